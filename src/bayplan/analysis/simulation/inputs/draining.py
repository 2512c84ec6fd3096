"""Draining a node: its pods are evicted one after another, as far as their budgets allow.

As `kubectl drain --ignore-daemonsets` and the eviction API do it: a pod whose budget is exhausted stays for now, and
finished pods and pods of a DaemonSet are ignored. The caller retries the rest.
"""

from __future__ import annotations

from bayplan.analysis.simulation.recording.pod_ledger import DRAIN_REASON
from bayplan.controllers.ownership import controller_reference, is_active
from bayplan.model.conditions import TRUE, with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import SelectorError, compile_label_selector
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.store import Store

_MARK = Condition(type=DISRUPTION_TARGET, status=TRUE, reason=DRAIN_REASON, message="Eviction API: evicting")


def drain_node(store: Store, name: str, now: int) -> bool:
    """Evicts the pods that may be evicted now; returns whether any remain."""
    staying = [_evict(store, pod, now) for pod in store.pods_on_node(name) if is_active(pod) and not _is_daemon(pod)]
    return not all(staying)


def _is_daemon(pod: Pod) -> bool:
    reference = controller_reference(pod.metadata)
    return reference is not None and reference.kind == "DaemonSet"


def _evict(store: Store, pod: Pod, now: int) -> bool:
    namespace, name = pod.metadata.namespace, pod.metadata.name
    budgets = [budget for budget in store.list(PodDisruptionBudget, namespace) if _covers(budget, pod)]
    if any(budget.status is None or budget.status.disruptions_allowed <= 0 for budget in budgets):
        return False
    for budget in budgets:
        store.modify_status(PodDisruptionBudget, namespace, budget.metadata.name, _spent, now)
    store.modify_status(Pod, namespace, name, lambda pod: with_pod_condition(pod, _MARK, format_time(now)), now)
    store.delete(Pod, namespace, name, now)
    return True


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return False
    return not selector.selects_nothing and selector.matches(pod.metadata.labels)


def _spent(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """One disruption less, until the controller has counted again."""
    assert budget.status is not None
    allowed = budget.status.disruptions_allowed - 1
    return replace(budget, status=replace(budget.status, disruptions_allowed=allowed))
