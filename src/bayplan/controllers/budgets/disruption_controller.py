"""The disruption controller: keeps the status of every PodDisruptionBudget.

Takes pods, budgets and the scales of workloads as they change; writes what `disruption` makes of them, after a lag
if one is wanted, for in a real cluster a budget is always a little behind. What a pod's change costs depends on the
budgets that select it, not on how many pods those have. A DisruptionTarget condition on a pod that then was not
deleted is taken back after two minutes. Granting evictions is the API server's business, not this.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar, TypeAlias

from bayplan.controllers.budgets.status import DISRUPTED_FOR_NS, BudgetedPods, Scales, SyncFailed, synced_status
from bayplan.controllers.ownership import (
    WORKLOADS,
    NamespacedName,
    Workload,
    controller_reference,
    is_active,
    namespaced_name,
)
from bayplan.controllers.timers import Timers, earliest
from bayplan.model.conditions import FALSE, TRUE, find_condition, with_condition, with_pod_condition
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.model.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from bayplan.store import Conflict, NotFound, Store, WatchEvent

# Upstream: pkg/controller/disruption/disruption.go stalePodDisruptionTimeout (v1.36).
STALE_AFTER_NS = 2 * MINUTE

_Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Sorted by key."""

_SCALED = (ReplicationController, ReplicaSet, StatefulSet, Deployment)
_WORKLOAD_KINDS = frozenset(kind.__name__ for kind in WORKLOADS)
_BY_KUBELET = "TerminationByKubelet"
_NO_LONGER = Condition(type=DISRUPTION_TARGET, status=FALSE)
_LABEL_SETS_KEPT = 4096


class DisruptionController:
    """Keeps budgets' statuses.

    Args:
        lag_ns: from a change to when the budget's status follows.
    """

    name: ClassVar[str] = "disruption-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "PodDisruptionBudget", *(kind.__name__ for kind in _SCALED)})

    def __init__(self, *, lag_ns: int = 0) -> None:
        self._lag_ns = lag_ns
        self._namespaces: dict[str, _Namespace] = {}
        self._due: Timers[NamespacedName] = Timers()
        self._stale: Timers[NamespacedName] = Timers()

    def observe(self, change: WatchEvent, now: int) -> None:
        obj = change.new
        if isinstance(obj, Pod):
            self._observe_pod(change, obj, now)
        elif isinstance(obj, PodDisruptionBudget):
            self._observe_budget(obj, now, gone=change.type == DELETED)
        elif isinstance(obj, _SCALED) and _scale_changed(change):
            budgets = self._namespaces.get(obj.metadata.namespace)
            if budgets is not None:
                for watched in budgets.by_name.values():
                    if watched.looks_at_scale:
                        self._enqueue(watched.key, now)

    def reconcile(self, store: Store, now: int) -> None:
        for key in self._due.pop_due(now):
            self._sync(store, key, now)
        for key in self._stale.pop_due(now):
            _clear_stale_target(store, key, now)

    def wake_at(self) -> int | None:
        return earliest(self._due.next_at(), self._stale.next_at())

    def _enqueue(self, key: NamespacedName, now: int) -> None:
        self._due.set_earlier(key, now + self._lag_ns)

    def _observe_budget(self, budget: PodDisruptionBudget, now: int, *, gone: bool) -> None:
        meta, key = budget.metadata, namespaced_name(budget)
        budgets = self._namespaces.setdefault(meta.namespace, _Namespace())
        if gone:
            budgets.remove(meta.name)
            self._due.cancel(key)
            if not budgets.by_name:
                del self._namespaces[meta.namespace]
            return
        budgets.watch(budget)
        self._enqueue(key, now)

    def _observe_pod(self, change: WatchEvent, pod: Pod, now: int) -> None:
        gone = change.type == DELETED
        self._watch_target_condition(pod, now, gone=gone)
        budgets = self._namespaces.get(pod.metadata.namespace)
        if budgets is None:
            return
        before, after = budgets.moved(change, pod)
        for watched in after:
            # What has not been listed yet will find the pod then.
            if watched.listed and watched.pods.put(pod):
                self._enqueue(watched.key, now)
        for watched in before:
            if watched not in after and watched.pods.drop(pod.metadata.name):
                self._enqueue(watched.key, now)

    def _watch_target_condition(self, pod: Pod, now: int, *, gone: bool) -> None:
        key = namespaced_name(pod)
        condition = None if gone else _passing_target_condition(pod)
        if condition is None:
            self._stale.cancel(key)
        elif condition.last_transition_time is not None:
            self._stale.set(key, parse_time(condition.last_transition_time) + STALE_AFTER_NS)
        elif key not in self._stale:
            self._stale.set(key, now + STALE_AFTER_NS)

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        budgets = self._namespaces[key[0]]
        watched = budgets.by_name[key[1]]
        budget = store.find(PodDisruptionBudget, *key)
        if budget is None:
            return
        if not watched.listed:
            budgets.list_pods(watched, store)
        status = _next_status(budget, watched, Scales(owners=_StoredOwners(store)), now)
        with suppress(NotFound, Conflict):
            store.modify_status(PodDisruptionBudget, *key, lambda stored: replace(stored, status=status), now)
        ends = [parse_time(since) + DISRUPTED_FOR_NS for since in status.disrupted_pods.values() if since]
        # Where counting failed, pods whose time is over are still there: looking again would change nothing.
        to_come = [end for end in ends if end >= now]
        if to_come:
            self._due.set_earlier(key, min(to_come) + 1)


class _Watched:
    """One budget, and the pods it selects."""

    __slots__ = ("fault", "key", "listed", "looks_at_scale", "pods", "selector", "written")

    def __init__(self, budget: PodDisruptionBudget) -> None:
        self.key = namespaced_name(budget)
        self.written = budget.spec.selector
        self.fault = ""
        self.selector = CompiledSelector.NOTHING
        try:
            self.selector = compile_label_selector(self.written)
        except SelectorError as error:
            self.fault = str(error)
        self.looks_at_scale = False
        self.listed = False
        self.pods = BudgetedPods()


class _Namespace:
    """The budgets of a namespace, and which of them select pods with certain labels."""

    def __init__(self) -> None:
        self.by_name: dict[str, _Watched] = {}
        self._selecting: dict[_Labels, tuple[_Labels, list[_Watched]]] = {}
        self._filed: dict[str, _Labels] = {}
        """By pod, the labels it had when last heard of."""

    def watch(self, budget: PodDisruptionBudget) -> None:
        name, spec = budget.metadata.name, budget.spec
        watched = self.by_name.get(name)
        if watched is None or watched.written != spec.selector:
            watched = self.by_name[name] = _Watched(budget)
            self._selecting.clear()
        watched.looks_at_scale = spec.max_unavailable is not None or isinstance(spec.min_available, str)

    def remove(self, name: str) -> None:
        if self.by_name.pop(name, None) is not None:
            self._selecting.clear()

    def list_pods(self, watched: _Watched, store: Store) -> None:
        """Lets a new budget have the pods that are there already."""
        for pod in store.list(Pod, watched.key[0]):
            labels, selecting = self._find(_labels(pod))
            if watched in selecting:
                watched.pods.put(pod)
                self._filed.setdefault(pod.metadata.name, labels)
        watched.listed = True

    def moved(self, change: WatchEvent, pod: Pod) -> tuple[list[_Watched], list[_Watched]]:
        """Who may have selected the pod before the change, and who selects it now."""
        name = pod.metadata.name
        labels, selecting = self._find(_labels(pod))
        known = self._filed.get(name)
        if change.type == DELETED:
            self._filed.pop(name, None)
            return (selecting if known in (None, labels) else [*selecting, *self._find(known)[1]]), []
        if known is labels:
            return [], selecting
        self._filed[name] = labels
        if known is None:
            # The pod may have come before any budget did.
            known = _labels(change.old) if isinstance(change.old, Pod) else labels
        return ([] if known == labels else self._find(known)[1]), selecting

    def _find(self, labels: _Labels) -> tuple[_Labels, list[_Watched]]:
        """The one copy of the labels that is kept, and who selects pods with them."""
        found = self._selecting.get(labels)
        if found is None:
            if len(self._selecting) >= _LABEL_SETS_KEPT:
                self._selecting.clear()
            given = dict(labels)
            found = labels, [watched for watched in self.by_name.values() if watched.selector.matches(given)]
            self._selecting[labels] = found
        return found


class _StoredOwners:
    """Workloads as the store has them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def controller_of(self, meta: ObjectMeta) -> Workload | None:
        reference = controller_reference(meta)
        if reference is None or reference.kind not in _WORKLOAD_KINDS:
            return None
        found = self._store.find(reference.kind, meta.namespace, reference.name)
        if not isinstance(found, WORKLOADS) or reference.uid not in ("", found.metadata.uid):
            return None
        return found


def _next_status(budget: PodDisruptionBudget, watched: _Watched, scales: Scales, now: int) -> PodDisruptionBudgetStatus:
    before = budget.status or PodDisruptionBudgetStatus()
    try:
        if watched.fault:
            raise SyncFailed(watched.fault)
        status = synced_status(budget, watched.pods, scales, now=now)
    except SyncFailed as error:
        # Nothing may be disrupted; what was counted last stays for people to see.
        status = replace(before, disruptions_allowed=0)
        wanted = Condition(
            type="DisruptionAllowed",
            status=FALSE,
            reason="SyncFailed",
            message=str(error),
            observed_generation=before.observed_generation or None,
        )
    else:
        wanted = status.conditions[0]
    status.conditions = with_condition(before.conditions, wanted, format_time(now))
    return status


def _labels(pod: Pod) -> _Labels:
    return tuple(sorted(pod.metadata.labels.items()))


def _scale_changed(change: WatchEvent) -> bool:
    old, new = change.old, change.new
    if change.type == DELETED or not isinstance(old, _SCALED) or not isinstance(new, _SCALED):
        return True
    same_owners = old.metadata.owner_references == new.metadata.owner_references
    return old.spec.replicas != new.spec.replicas or not same_owners


def _passing_target_condition(pod: Pod) -> Condition | None:
    """The condition that says the pod is about to be disrupted, if it must not stand for long."""
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    if condition is None or condition.status != TRUE or condition.reason == _BY_KUBELET or not is_active(pod):
        return None
    return condition


def _clear_stale_target(store: Store, key: NamespacedName, now: int) -> None:
    pod = store.find(Pod, *key)
    condition = None if pod is None else _passing_target_condition(pod)
    since = condition.last_transition_time if condition is not None else None
    if condition is None or (since is not None and parse_time(since) + STALE_AFTER_NS > now):
        # It has changed since it was noted; news of that are on their way.
        return
    with suppress(NotFound, Conflict):
        store.modify_status(Pod, *key, lambda stored: with_pod_condition(stored, _NO_LONGER, format_time(now)), now)
