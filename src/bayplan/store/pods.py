"""What an API server allows to happen to a pod: how it starts out, what may change, and its binding.

Takes the pod as stored and as wished for; gives the pod to be stored, or raises the refusal. Stored structs are
never changed: what differs is copied. Not checked is the content of a new pod beyond what concerns the
scheduler (names, quantities, images), nor the in-place resizing of containers, which is a resource of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.model.conditions import FALSE, TRUE, with_condition
from bayplan.model.meta import Condition
from bayplan.model.node import Node
from bayplan.model.pod import Affinity, Container, NodeSelectorTerm, Pod, PodSpec, PodStatus
from bayplan.model.shared_steps import shared_step
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import POD_SCHEDULED, REGION, SCHEDULING_GATED, ZONE
from bayplan.store.errors import FORBIDDEN, Conflict, Invalid, StatusCause, field_cause
from bayplan.store.rules import RULES

POD_RULES = RULES[Pod]
# Copied from the node to the pod that is bound to it.
TOPOLOGY_LABELS = (ZONE, REGION)

GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"
SPEC_IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
TOLERATIONS_IMMUTABLE = "existing toleration can not be modified except its tolerationSeconds"
BOUND_AND_NOMINATED = "may not be set on pods that are already bound to a node"


def added_gate(name: str) -> str:
    """A change adds a gate to a pod that exists."""
    return f"only deletion is allowed, but found new scheduling gate '{name}'"


def start_gated(pod: Pod, now: int) -> None:
    """Gives a new pod with gates a status that says so; raises Invalid when it cannot have any."""
    if pod.spec.node_name:
        text = "cannot be set until all schedulingGates have been cleared"
        raise _invalid(pod, [field_cause(FORBIDDEN, "spec.nodeName", text)])
    gated = Condition(type=POD_SCHEDULED, status=FALSE, reason=SCHEDULING_GATED, message=GATED_MESSAGE)
    pod.status = replace(pod.status, conditions=with_condition(pod.status.conditions, gated, format_time(now)))


def topology_labels(node: Node | None) -> dict[str, str]:
    """Where the node is, as its pods are labeled; a node that is not there says nothing."""
    if node is None:
        return {}
    labels = node.metadata.labels
    if ZONE not in labels and REGION not in labels:
        return {}
    return {key: labels[key] for key in TOPOLOGY_LABELS if key in labels}


def bound(
    pod: Pod, node_name: str, uid: str, labels: Mapping[str, str], annotations: Mapping[str, str], now: int
) -> Pod:
    """The pod on its node: scheduled, no longer nominated. Its generation stays. Raises Conflict."""
    # Upstream: pkg/registry/core/pod/storage/storage.go setPodNodeAndMetadata (v1.36).
    meta, spec = pod.metadata, pod.spec
    if uid and uid != meta.uid:
        key = POD_RULES.storage_key(meta.namespace, meta.name)
        raise Conflict.other_uid(POD_RULES, key, meta.name, uid, meta.uid)
    if meta.deletion_timestamp is not None:
        raise Conflict.binding(meta.name, f"pod {meta.name} is being deleted, cannot be assigned to a host")
    if spec.node_name:
        raise Conflict.binding(meta.name, f'pod {meta.name} is already assigned to node "{spec.node_name}"')
    if spec.scheduling_gates:
        raise Conflict.binding(meta.name, f"pod {meta.name} has non-empty .spec.schedulingGates")
    return Pod(
        metadata=replace(
            meta,
            labels={**meta.labels, **labels} if labels else meta.labels,
            annotations={**meta.annotations, **annotations} if annotations else meta.annotations,
        ),
        spec=replace(spec, node_name=node_name),
        status=_scheduled(pod.status, format_time(now)),
    )


@shared_step
def _scheduled(status: PodStatus, time: str) -> PodStatus:
    conditions = with_condition(status.conditions, Condition(type=POD_SCHEDULED, status=TRUE), time)
    return replace(status, conditions=conditions, nominated_node_name="")


def check_status_update(old: Pod, new: Pod) -> None:
    """Raises Invalid when a bound pod is nominated."""
    nominated = new.status.nominated_node_name
    if nominated and new.spec.node_name and nominated != old.status.nominated_node_name:
        raise _invalid(new, [field_cause(FORBIDDEN, "status.nominatedNodeName", BOUND_AND_NOMINATED)])


def check_spec_update(old: Pod, new: Pod) -> None:
    """Raises Invalid when the new spec changes what must stay."""
    spec, before = new.spec, old.spec
    _check_gates(old, new)
    allowed = replace(
        before,
        containers=_with_images(before.containers, spec.containers),
        init_containers=_with_images(before.init_containers, spec.init_containers),
        scheduling_gates=spec.scheduling_gates,
    )
    _allow_deadline(allowed, spec)
    _check_tolerations(old, new)
    allowed.tolerations = spec.tolerations
    if (before.termination_grace_period_seconds or 0) < 0 and spec.termination_grace_period_seconds == 1:
        allowed.termination_grace_period_seconds = 1
    if before.scheduling_gates:
        _allow_narrowing(allowed, spec)
    if allowed != spec:
        raise _invalid(new, [field_cause(FORBIDDEN, "spec", SPEC_IMMUTABLE)])


def _check_tolerations(old: Pod, new: Pod) -> None:
    """All that were there must be there still, in whatever order; for how long they hold may change."""
    # Upstream: apis/core/validation/validation.go validateOnlyAddedTolerations (v1.36).
    after = [replace(toleration, toleration_seconds=None) for toleration in new.spec.tolerations]
    if not all(replace(toleration, toleration_seconds=None) in after for toleration in old.spec.tolerations):
        raise _invalid(new, [field_cause(FORBIDDEN, "spec.tolerations", TOLERATIONS_IMMUTABLE)])


def _check_gates(old: Pod, new: Pod) -> None:
    before = [gate.name for gate in old.spec.scheduling_gates]
    causes = [
        field_cause(
            FORBIDDEN,
            f"spec.schedulingGates[{position}].name",
            added_gate(gate.name),
        )
        for position, gate in enumerate(new.spec.scheduling_gates)
        if gate.name not in before
    ]
    if causes:
        raise _invalid(new, causes)


def _with_images(before: list[Container], after: list[Container]) -> list[Container]:
    if len(before) != len(after):
        return before
    return [replace(container, image=other.image) for container, other in zip(before, after, strict=True)]


def _allow_deadline(allowed: PodSpec, spec: PodSpec) -> None:
    # A deadline may be set or brought forward, never put off or taken away.
    deadline, before = spec.active_deadline_seconds, allowed.active_deadline_seconds
    if deadline is not None and deadline >= 0 and (before is None or deadline <= before):
        allowed.active_deadline_seconds = deadline


def _allow_narrowing(allowed: PodSpec, spec: PodSpec) -> None:
    """Whoever holds a gate may still say more about which nodes will do."""
    if allowed.node_selector.items() <= spec.node_selector.items():
        allowed.node_selector = spec.node_selector
    before = allowed.affinity or Affinity()
    after = spec.affinity or Affinity()
    if _is_narrower(before.node_affinity, after.node_affinity):
        rest = replace(after, node_affinity=None)
        if rest == replace(before, node_affinity=None):
            allowed.affinity = spec.affinity


def _is_narrower(before: Any, after: Any) -> bool:
    """Whether required terms were only added to; what is preferred may change at will."""
    required_before = before.required if before is not None else None
    required_after = after.required if after is not None else None
    if required_before is None:
        return True
    if required_after is None:
        return False
    terms_before = required_before.node_selector_terms
    terms_after = required_after.node_selector_terms
    if len(terms_before) != len(terms_after):
        return False
    return all(_extends(term, other) for term, other in zip(terms_before, terms_after, strict=True))


def _extends(before: NodeSelectorTerm, after: NodeSelectorTerm) -> bool:
    # A term without requirements matches nothing; adding to it would widen the choice.
    if not before.match_expressions and not before.match_fields:
        return not after.match_expressions and not after.match_fields
    return all(requirement in after.match_expressions for requirement in before.match_expressions) and all(
        requirement in after.match_fields for requirement in before.match_fields
    )


def _invalid(pod: Pod, causes: Sequence[StatusCause]) -> Invalid:
    return Invalid.of(POD_RULES, pod.metadata.name, causes)
