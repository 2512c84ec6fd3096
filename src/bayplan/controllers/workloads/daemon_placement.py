"""Where a DaemonSet runs, and what sets its pods apart from others of the same template.

Takes a DaemonSet and nodes; says on which of them a pod belongs and prepares pods: the tolerations every daemon
has, and an affinity to the one node. Resources play no part: whether a daemon fits is for the scheduler to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.controllers.workloads.pods_from_templates import copy_spec
from bayplan.model.node import Node
from bayplan.model.pod import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Toleration,
)
from bayplan.model.selectors import (
    NODE_NAME_FIELD,
    CompiledNodeTerm,
    SelectorError,
    compile_match_labels,
    compile_node_term,
)
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates
from bayplan.model.well_known import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
)
from bayplan.model.workloads import DaemonSet

_TOLERATED = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    (DISK_PRESSURE, NO_SCHEDULE),
    (MEMORY_PRESSURE, NO_SCHEDULE),
    (PID_PRESSURE, NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK = (NETWORK_UNAVAILABLE, NO_SCHEDULE)


def daemon_template(daemon_set: DaemonSet) -> PodTemplateSpec:
    """The template with the tolerations of a daemon; the DaemonSet stays as it is."""
    spec = copy_spec(daemon_set.spec.template.spec)
    for key, effect in (*_TOLERATED, *([_TOLERATED_ON_HOST_NETWORK] if spec.host_network else [])):
        _tolerate(spec, Toleration(key=key, operator="Exists", effect=effect))
    return PodTemplateSpec(metadata=daemon_set.spec.template.metadata, spec=spec)


def _tolerate(spec: PodSpec, wanted: Toleration) -> None:
    """Adds the toleration, or puts it in the place of one that differs in its seconds alone."""
    same = (wanted.key, wanted.operator, wanted.value, wanted.effect)
    for position, given in enumerate(spec.tolerations):
        if (given.key, given.operator, given.value, given.effect) == same:
            spec.tolerations[position] = wanted
            return
    spec.tolerations.append(wanted)


class DaemonPlaces:
    """Tells for a daemon's pod spec whether a node should run it."""

    def __init__(self, spec: PodSpec) -> None:
        self._node_name = spec.node_name
        self._tolerations = spec.tolerations
        self._labels = compile_match_labels(spec.node_selector)
        self._terms = _required_terms(spec)

    def include(self, node: Node) -> bool:
        return self.suits(node) and self._bears(node, (NO_SCHEDULE, NO_EXECUTE))

    def keep(self, node: Node) -> bool:
        """Whether a daemon that is there may stay: a taint that only keeps new pods away does not drive it out."""
        return self.suits(node) and self._bears(node, (NO_EXECUTE,))

    def suits(self, node: Node) -> bool:
        """Whether the node has what the spec asks for by name and labels."""
        meta = node.metadata
        if self._node_name not in ("", meta.name) or not self._labels.matches(meta.labels):
            return False
        return self._terms is None or any(term.matches(meta.labels, meta.name) for term in self._terms)

    def _bears(self, node: Node, effects: Sequence[str]) -> bool:
        return all(taint.effect not in effects or any_tolerates(self._tolerations, taint) for taint in node.spec.taints)


def _required_terms(spec: PodSpec) -> list[CompiledNodeTerm] | None:
    """None when the pod requires nothing; a term that is no valid selector matches nothing, as if it were not there."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None or affinity.required is None:
        return None
    terms = []
    for term in affinity.required.node_selector_terms:
        try:
            terms.append(compile_node_term(term))
        except SelectorError:
            continue
    return terms


def pin(pod: Pod, node_name: str) -> None:
    """Ties the pod to the node by name, in place of whatever node affinity it required before."""
    by_name = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator="In", values=[node_name])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[by_name])])
    affinity = pod.spec.affinity = pod.spec.affinity or Affinity()
    affinity.node_affinity = affinity.node_affinity or NodeAffinity()
    affinity.node_affinity.required = required


def pinned_to(pod: Pod) -> str:
    """The node a daemon's pod is on or meant for; "" if it does not say."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == NODE_NAME_FIELD and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""
