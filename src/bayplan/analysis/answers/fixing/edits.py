"""Changes of the pod itself that take a constraint away or relax it, from what its spec says and what nodes look like.

An edit is a function of a pod spec, so that the same one serves for the pod that is tried and for the template that is
patched. It names what it changes by position: of two edits the one that comes later in the list is applied first.
Nothing is tried here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.answers.nodes_needed import lasting_taints
from bayplan.analysis.written import written_requirement, written_taint
from bayplan.core.columns.node_selectors import required_nodes
from bayplan.core.plugins.pod_topology_spread.constraints import HARD, SOFT
from bayplan.model.cluster import PriorityClass
from bayplan.model.node import Node, Taint
from bayplan.model.pod import NodeSelector, NodeSelectorTerm, PodSpec, Toleration
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates

#: Like those of Kubernetes, these say what is the matter with a node; to tolerate them would not make it any better.
_OF_CLOUDS = "node.cloudprovider.kubernetes.io/"
#: Taints that are tried, the most common ones.
TAINTS_MAX = 20
TOLERATIONS = frozenset({RemedyKind.TOLERATION, RemedyKind.OWN_TOLERATION})


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a pod spec."""

    change: Remedy
    apply: Callable[[PodSpec], None]  # to a copy that may be changed
    position: int = -1  # of the spread constraint whose skew is raised

    def applied(self, spec: PodSpec) -> PodSpec:
        copied = deepcopy(spec)
        self.apply(copied)
        return copied


def edits_of(spec: PodSpec, nodes: Iterable[Node]) -> list[Edit]:
    """Everything that could be dropped or tolerated, one thing at a time."""
    return [
        *_tolerations(spec, nodes),
        *_node_selector(spec),
        *_node_affinity(spec),
        *_pod_affinity(spec),
        *_spreading(spec),
        *_host_ports(spec),
        *(without_device_claim(entry.name) for entry in spec.resource_claims),
    ]


def without_gates(spec: PodSpec) -> Edit:
    """The pod as it is once everybody has opened their gate."""
    names = ", ".join(gate.name for gate in spec.scheduling_gates)

    def apply(changed: PodSpec) -> None:
        changed.scheduling_gates = []

    return Edit(Remedy(RemedyKind.GATES, names), apply)


def with_class(spec: PodSpec, priority_class: PriorityClass) -> Edit:
    """The pod with another priority."""
    name, value = priority_class.metadata.name, priority_class.value
    change = Remedy(RemedyKind.PRIORITY, name, before=spec.priority or 0, after=value)

    def apply(changed: PodSpec) -> None:
        changed.priority_class_name = name
        is_admitted = changed.priority is not None  # a template leaves the rest to admission
        changed.priority = value if is_admitted else None
        changed.preemption_policy = priority_class.preemption_policy if is_admitted else None

    return Edit(change, apply)


def without_device_claim(name: str) -> Edit:
    """The pod without the devices that it asks for under this name."""

    def apply(changed: PodSpec) -> None:
        changed.resource_claims = [entry for entry in changed.resource_claims if entry.name != name]
        for container in (*changed.containers, *changed.init_containers):
            container.resources.claims = [claim for claim in container.resources.claims if claim.name != name]

    return Edit(Remedy(RemedyKind.DEVICE_CLAIM, name), apply)


def with_skew(spec: PodSpec, position: int, skew: int) -> Edit:
    """The pod with a larger skew allowed by one of its spread constraints."""
    constraint = spec.topology_spread_constraints[position]
    extent = min(1.0, 0.1 * (skew - constraint.max_skew - 1))
    change = Remedy(RemedyKind.SKEW, constraint.topology_key, before=constraint.max_skew, after=skew, extent=extent)

    def apply(changed: PodSpec) -> None:
        changed.topology_spread_constraints[position].max_skew = skew

    return Edit(change, apply, position)


def tolerated(taint: Taint) -> Toleration:
    """A toleration of this taint and no other."""
    if taint.value:
        return Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    return Toleration(key=taint.key, operator="Exists", effect=taint.effect)


def _tolerations(spec: PodSpec, nodes: Iterable[Node]) -> Iterator[Edit]:
    found: Counter[tuple[str, str, str]] = Counter()
    wanted: Counter[tuple[str, str, str]] = Counter()  # on nodes that the pod asks for
    asked_for = 0
    for node in nodes:
        is_wanted = asks_for(spec, node)
        asked_for += is_wanted
        for taint in lasting_taints(node):
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not taint.key.startswith(_OF_CLOUDS):
                found[taint.key, taint.value, taint.effect] += 1
                wanted[taint.key, taint.value, taint.effect] += is_wanted
    for identity, _ in found.most_common(TAINTS_MAX):
        key, value, effect = identity
        taint = Taint(key=key, value=value, effect=effect)
        if not any_tolerates(spec.tolerations, taint):
            kind = RemedyKind.OWN_TOLERATION if asked_for and wanted[identity] == asked_for else RemedyKind.TOLERATION
            yield Edit(Remedy(kind, written_taint(taint)), _tolerate(taint))


def asks_for(spec: PodSpec, node: Node) -> bool:
    """Whether the pod asks for such nodes: it selects them, or needs something that not every node has."""
    scarce = [name for name in requested_names(spec) if "/" in name]
    required = required_nodes(spec)
    if not scarce and not required.restricts:
        return False
    return all(node.status.allocatable.get(name) for name in scarce) and required.allow(node)


def requested_names(spec: PodSpec) -> list[str]:
    """The resources that containers request."""
    every = (*spec.containers, *spec.init_containers)
    return list(dict.fromkeys(name for container in every for name in container.resources.requests))


def required_terms(spec: PodSpec) -> list[NodeSelectorTerm]:
    """Of its node affinity."""
    required = _required(spec)
    return required.node_selector_terms if required is not None else []


def _tolerate(taint: Taint) -> Callable[[PodSpec], None]:
    return lambda changed: changed.tolerations.append(tolerated(taint))


def _node_selector(spec: PodSpec) -> Iterator[Edit]:
    for key, value in spec.node_selector.items():
        yield Edit(Remedy(RemedyKind.NODE_SELECTOR, f"{key}={value}"), _without_label(key))


def _without_label(key: str) -> Callable[[PodSpec], None]:
    return lambda changed: changed.node_selector.pop(key, None)  # type: ignore[return-value]


def _node_affinity(spec: PodSpec) -> Iterator[Edit]:
    """Each expression of each term; and with several, all of it. A node that a daemon is meant for stays."""
    required = _required(spec)
    if required is None or any(term.match_fields for term in required.node_selector_terms):
        return
    terms = required.node_selector_terms
    expressions = [(at, position) for at, term in enumerate(terms) for position in range(len(term.match_expressions))]
    for at, position in expressions:
        if len(terms[at].match_expressions) > 1:
            what = written_requirement(terms[at].match_expressions[position])
            yield Edit(Remedy(RemedyKind.NODE_AFFINITY, what), _without_expression(at, position))
    every = " or ".join(" and ".join(map(written_requirement, term.match_expressions)) for term in terms)
    yield Edit(Remedy(RemedyKind.NODE_AFFINITY, every, extent=0.1 * (len(expressions) > 1)), _without_node_affinity)


def _required(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return affinity.required if affinity is not None else None


def _without_expression(at: int, position: int) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        required = _required(changed)
        if required is None or position >= len(required.node_selector_terms[at].match_expressions):
            return  # another edit took all of it
        del required.node_selector_terms[at].match_expressions[position]
        if not required.node_selector_terms[at].match_expressions:
            _without_node_affinity(changed)  # a term without conditions would match nothing

    return apply


def _without_node_affinity(changed: PodSpec) -> None:
    if changed.affinity is not None and changed.affinity.node_affinity is not None:
        changed.affinity.node_affinity.required = None


def _pod_affinity(spec: PodSpec) -> Iterator[Edit]:
    affinity = spec.affinity
    if affinity is None:
        return
    if affinity.pod_affinity is not None:
        for position, term in enumerate(affinity.pod_affinity.required):
            yield Edit(Remedy(RemedyKind.POD_AFFINITY, term.topology_key), _without_affinity_term(position))
    if affinity.pod_anti_affinity is not None:
        for position, term in enumerate(affinity.pod_anti_affinity.required):
            yield Edit(Remedy(RemedyKind.POD_ANTI_AFFINITY, term.topology_key), _without_anti_affinity_term(position))


def _without_affinity_term(position: int) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        assert changed.affinity is not None
        assert changed.affinity.pod_affinity is not None
        del changed.affinity.pod_affinity.required[position]

    return apply


def _without_anti_affinity_term(position: int) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        assert changed.affinity is not None
        assert changed.affinity.pod_anti_affinity is not None
        del changed.affinity.pod_anti_affinity.required[position]

    return apply


def _spreading(spec: PodSpec) -> Iterator[Edit]:
    for position, constraint in enumerate(spec.topology_spread_constraints):
        if constraint.when_unsatisfiable == HARD:
            change = Remedy(RemedyKind.SPREAD, constraint.topology_key, before=HARD, after=SOFT)
            yield Edit(change, _schedule_anyway(position), position)


def _schedule_anyway(position: int) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        constraint = changed.topology_spread_constraints[position]
        constraint.when_unsatisfiable = SOFT
        constraint.min_domains = None  # allowed only where the constraint is strict

    return apply


def _host_ports(spec: PodSpec) -> Iterator[Edit]:
    """A pod on the host's network holds its ports whatever it says."""
    if spec.host_network:
        return
    for container in spec.containers:
        for port in container.ports:
            if port.host_port:
                what = f"{port.host_port}/{port.protocol or 'TCP'}"
                yield Edit(Remedy(RemedyKind.HOST_PORT, what), _without_host_port(container.name, port.host_port))


def _without_host_port(container_name: str, host_port: int) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        for container in changed.containers:
            for port in container.ports:
                if container.name == container_name and port.host_port == host_port:
                    port.host_port = 0

    return apply
