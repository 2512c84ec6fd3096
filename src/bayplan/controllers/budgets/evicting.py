"""Evictions: deletions that ask the disruption budgets first. The API server, simulations and answers all ask here.

Takes the pod and the budgets of its namespace; gives the budget with the pod noted as disrupted, or raises what the
real server answers; `evict_by_request` does both and deletes. Also knows which pods `kubectl drain` leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.controllers.ownership import controller_of_kind
from bayplan.model.conditions import TRUE, is_ready, with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.selectors import SelectorError, compile_label_selector
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.model.workloads import DaemonSet
from bayplan.store import Store
from bayplan.store.errors import ApiError, InternalError, StatusCause, TooManyRequests

EVICTION_REASON: Final = "EvictionByEvictionAPI"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_ALWAYS_ALLOW = "AlwaysAllow"
#: More pods than this noted as disrupted mean that the budget's controller does not keep up.
_DISRUPTED_MAX = 2_000
#: When to ask again about a budget that its controller has not looked at yet.
_SOON_S = 10


def ask_budgets(pod: Pod, budgets: Iterable[PodDisruptionBudget], now: int) -> PodDisruptionBudget | None:
    """The budget of the pod with one disruption fewer; None if no budget has a say. Raises if the pod may not go."""
    if _needs_no_budget(pod):
        return None
    budget = _budget_of(pod, budgets)
    if budget is None or not _guards(budget, pod):
        return None
    return replace(budget, status=_disrupted(budget, pod, now))


def is_daemon(pod: Pod) -> bool:
    """Pods of a DaemonSet stay on a drained node."""
    return controller_of_kind(pod.metadata, DaemonSet.__name__) is not None


def is_mirror(pod: Pod) -> bool:
    """Pods that a kubelet runs from a file stay as well."""
    return MIRROR_ANNOTATION in pod.metadata.annotations


def _needs_no_budget(pod: Pod) -> bool:
    """Pods that do not run, or are going already, may go whatever budgets say."""
    return pod.status.phase in ("Pending", *FINISHED_PHASES) or pod.metadata.deletion_timestamp is not None


def _budget_of(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> PodDisruptionBudget | None:
    """The one budget that covers the pod; raises if there are several."""
    covering = [budget for budget in budgets if _covers(budget, pod)]
    if len(covering) > 1:
        raise InternalError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    return covering[0] if covering else None


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return compile_label_selector(budget.spec.selector).matches(pod.metadata.labels)
    except SelectorError:  # only in files: no server accepts it
        return False


def _guards(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the budget has a say: not about pods that are not ready, unless too few others are."""
    if is_ready(pod):
        return True
    status = budget.status or PodDisruptionBudgetStatus()
    is_kept = status.current_healthy >= status.desired_healthy > 0
    return budget.spec.unhealthy_pod_eviction_policy != _ALWAYS_ALLOW and not is_kept


def _disrupted(budget: PodDisruptionBudget, pod: Pod, now: int) -> PodDisruptionBudgetStatus:
    """The budget's status with one disruption fewer; raises if it allows none."""
    # Upstream: pkg/registry/core/pod/storage/eviction.go checkAndDecrement (v1.36).
    status = budget.status or PodDisruptionBudgetStatus()
    name = budget.metadata.name
    if status.observed_generation < budget.metadata.generation:
        cause = StatusCause("DisruptionBudget", f"The disruption budget {name} is still being processed by the server.")
        refusal = TooManyRequests(_REFUSED, causes=[cause])
        refusal.retry_after_s = _SOON_S
        raise refusal
    if status.disruptions_allowed <= 0:
        raise _refusal(name, status)
    if len(status.disrupted_pods) > _DISRUPTED_MAX:
        raise ApiError("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    return replace(
        status,
        disruptions_allowed=status.disruptions_allowed - 1,
        disrupted_pods={**status.disrupted_pods, pod.metadata.name: format_time(now)},
    )


def about_to_go(pod: Pod, now: int) -> Pod:
    """The pod with the condition that says why it goes."""
    condition = Condition(type=DISRUPTION_TARGET, status=TRUE, reason=EVICTION_REASON, message="Eviction API: evicting")
    return with_pod_condition(pod, condition, format_time(now))


def evict_by_request(store: Store, pod: Pod, now: int) -> None:
    """What a POST to the pod's eviction does. Raises what the server answers if the pod may not go."""
    namespace, name = pod.metadata.namespace, pod.metadata.name
    after = ask_budgets(pod, store.list(PodDisruptionBudget, namespace), now)
    if after is not None:
        spent = after.status
        store.modify_status(
            PodDisruptionBudget, namespace, after.metadata.name, lambda budget: replace(budget, status=spent), now
        )
    store.modify_status(Pod, namespace, name, lambda pod: about_to_go(pod, now), now)
    store.delete(Pod, namespace, name, now)


def _refusal(name: str, status: PodDisruptionBudgetStatus) -> TooManyRequests:
    text = (
        f"The disruption budget {name} needs {status.desired_healthy} healthy pods "
        f"and has {status.current_healthy} currently"
    )
    return TooManyRequests(_REFUSED, causes=[StatusCause("DisruptionBudget", text)])
