"""What exactly changed in an object, in the words that plugins register for.

Takes the object before and after, gives actions in upstream's order, one for each property that matters to scheduling.
A pod in which none of them changed is simply updated; a node in which none changed gives nothing. Amounts are compared
as the filters count them, so that a change of less than one unit is none. Upstream: framework/events.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.columns.resources import pod_requests, status_agrees
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.requeue import ActionType
from bayplan.model.meta import RawQuantity
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.quantity import parse_quantity


def pod_changes(old: Pod, new: Pod, gates: FeatureGates) -> list[ActionType]:
    if (
        old.spec is new.spec
        and old.metadata.labels is new.metadata.labels
        and status_agrees(old, gates.release)
        and status_agrees(new, gates.release)
        and not _told_other_claims(old, new)
    ):
        return [ActionType.UPDATE]  # nearly all changes are of the status
    found = {
        ActionType.UPDATE_POD_LABEL: old.metadata.labels != new.metadata.labels,
        ActionType.UPDATE_POD_SCALE_DOWN: _asks_for_less(old, new, gates),
        ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: bool(old.spec.scheduling_gates)
        and not new.spec.scheduling_gates,
        # Tolerations can only be added to a pod, so that their number tells.
        ActionType.UPDATE_POD_TOLERATION: len(old.spec.tolerations) != len(new.spec.tolerations),
        ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: _told_other_claims(old, new),
    }
    return [action for action, changed in found.items() if changed] or [ActionType.UPDATE]


def _told_other_claims(old: Pod, new: Pod) -> bool:
    """Whether other claims were made for the pod than before."""
    before, after = old.status, new.status
    return (
        before.resource_claim_statuses != after.resource_claim_statuses
        or before.extended_resource_claim_status != after.extended_resource_claim_status
    )


def node_changes(old: Node, new: Node) -> list[ActionType]:
    """Taints may come twice: a node that is uncordoned and loses a taint at once has changed in two ways."""
    found = (
        # A node that is cordoned helps nobody.
        (ActionType.UPDATE_NODE_TAINT, old.spec.unschedulable and not new.spec.unschedulable),
        (ActionType.UPDATE_NODE_ALLOCATABLE, not _same_amounts(old.status.allocatable, new.status.allocatable)),
        (ActionType.UPDATE_NODE_LABEL, old.metadata.labels != new.metadata.labels),
        (ActionType.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (ActionType.UPDATE_NODE_CONDITION, _condition_statuses(old) != _condition_statuses(new)),
        (ActionType.UPDATE_NODE_ANNOTATION, old.metadata.annotations != new.metadata.annotations),
        (ActionType.UPDATE_NODE_DECLARED_FEATURE, old.status.declared_features != new.status.declared_features),
    )
    return [action for action, changed in found if changed]


def _asks_for_less(old: Pod, new: Pod, gates: FeatureGates) -> bool:
    before, after = pod_requests(old, gates).used, pod_requests(new, gates).used
    if before is after:
        return False
    return any(name not in after or after[name] < amount for name, amount in before.items())


def _same_amounts(old: Mapping[str, RawQuantity], new: Mapping[str, RawQuantity]) -> bool:
    if old == new:
        return True
    return old.keys() == new.keys() and all(parse_quantity(old[name]) == parse_quantity(new[name]) for name in old)


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
