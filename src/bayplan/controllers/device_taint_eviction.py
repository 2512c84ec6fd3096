"""Pods leave when a device of theirs gets a NoExecute taint that their claim does not tolerate, or only for a while.

Takes slices, rules, claims and pods as they change; marks and deletes the pods that use such a device once their time
is over. A taint counts from when it was added; one that does not say when is as old as the news of it. Pods without a
node, and claims that the scheduler made for extended resources, are passed over, as upstream does. Each rule is told in
its status how far this has come (`device_taint_rules.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import ClassVar, Final, NamedTuple

from bayplan.controllers.device_taint_rules import (
    NO_EFFECT,
    STATUS_PERIOD_NS,
    RuleCounts,
    standing_until,
    with_eviction_condition,
)
from bayplan.controllers.eviction import evict
from bayplan.controllers.ownership import NamespacedName, namespaced_name
from bayplan.controllers.resource_claims import is_made_for, names_in_use
from bayplan.controllers.timers import Timers, earliest
from bayplan.controllers.work_queue import WorkQueue
from bayplan.core.plugins.dynamic_resources.allocation import tolerates_taint
from bayplan.model.conditions import TRUE
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import (
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.store import Conflict, NotFound, Store, WatchEvent

DELETED_BY_TAINT: Final = "DeletionByDeviceTaintManager"
_BECAUSE_OF_TAINT = Condition(
    type=DISRUPTION_TARGET,
    status=TRUE,
    reason=DELETED_BY_TAINT,
    message="Device Taint manager: deleting due to NoExecute taint",
)


class _Pool(NamedTuple):
    driver: str
    name: str


class _Dated(NamedTuple):
    """A NoExecute taint, and since when it stands."""

    taint: DeviceTaint
    since: int


class _Ruled(NamedTuple):
    """The taint of a DeviceTaintRule, and the devices that have it."""

    selector: DeviceTaintSelector
    dated: _Dated


class _Reason(NamedTuple):
    """Why a pod has to go, and when."""

    at: int
    rule: str  # "" if the taint stands in a slice


class DeviceTaintEvictionController:
    """Evicts from tainted devices."""

    # Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go (v1.36, v1.37).
    name: ClassVar[str] = "device-taint-eviction-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"DeviceTaintRule", "Pod", "ResourceClaim", "ResourceSlice"})

    def __init__(self, *, has_rules: bool = False) -> None:
        """`has_rules`: whether DeviceTaintRules count, which is a feature gate."""
        self._has_rules = has_rules
        self._rules: dict[str, _Ruled] = {}
        self._slices: dict[_Pool, dict[str, ResourceSlice]] = {}
        self._tainted: dict[_Pool, dict[str, list[_Dated]]] = {}  # by device; pools without such taints are not here
        self._claims: dict[_Pool, dict[NamespacedName, None]] = {}  # that hold devices of the pool
        self._pods: WorkQueue[NamespacedName] = WorkQueue()
        self._changed: WorkQueue[NamespacedName] = WorkQueue()  # claims whose users have to be looked at
        self._evictions: Timers[NamespacedName] = Timers()
        self._reports: WorkQueue[str] = WorkQueue()  # rules whose status has to be looked at
        self._evicted_by: Counter[str] = Counter()  # pods, by the uid of the rule
        self._counted: set[str] = set()  # uids of pods that are leaving and have been counted

    def observe(self, change: WatchEvent, now: int) -> None:
        obj, old = change.new, change.old
        if isinstance(obj, Pod):
            self._observe_pod(old, obj, change.type == DELETED)
        elif isinstance(obj, ResourceClaim):
            self._observe_claim(old, obj, change.type == DELETED)
        elif isinstance(obj, ResourceSlice):
            self._observe_slice(obj, change.type == DELETED, now)
        elif isinstance(obj, DeviceTaintRule) and self._has_rules:
            self._observe_rule(old, obj, change.type == DELETED, now)

    def _observe_pod(self, old: object, pod: Pod, is_gone: bool) -> None:
        key = namespaced_name(pod)
        if is_gone:
            self._evictions.cancel(key)
            self._pods.discard(key)
            self._counted.discard(pod.metadata.uid)
        elif (
            (self._tainted or self._rules) and pod.spec.resource_claims and pod.spec.node_name and _may_matter(old, pod)
        ):
            self._pods.add(key)

    def _observe_claim(self, old: object, claim: ResourceClaim, is_gone: bool) -> None:
        key = namespaced_name(claim)
        before = _pools_of(old) if isinstance(old, ResourceClaim) else set()
        after = set() if is_gone else _pools_of(claim)
        for pool in before - after:
            self._claims[pool].pop(key, None)
        for pool in after:
            self._claims.setdefault(pool, {})[key] = None
        if any(self._rules or pool in self._tainted for pool in before | after):
            for known in (old, claim):
                if isinstance(known, ResourceClaim):
                    for name in _users(known):
                        self._pods.add((key[0], name))

    def _observe_slice(self, changed: ResourceSlice, is_gone: bool, now: int) -> None:
        pool = _Pool(changed.spec.driver, changed.spec.pool.name)
        slices = self._slices.setdefault(pool, {})
        if is_gone:
            slices.pop(changed.metadata.name, None)
        else:
            slices[changed.metadata.name] = changed
        before = self._tainted.pop(pool, {})
        taints = _taints_in(slices, before, now)
        if taints:
            self._tainted[pool] = taints
        if taints != before:
            for key in self._claims.get(pool, ()):
                self._changed.add(key)

    def _observe_rule(self, old: object, rule: DeviceTaintRule, is_gone: bool, now: int) -> None:
        """A rule without a selector is about no device here, though it is about all of them for the scheduler."""
        name, taint, selector = rule.metadata.name, rule.spec.taint, rule.spec.device_selector
        if is_gone:
            self._evicted_by.pop(rule.metadata.uid, None)
        elif not isinstance(old, DeviceTaintRule) or old.spec != rule.spec:
            self._reports.add(name)
        before = self._rules.pop(name, None)
        if not is_gone and selector is not None and taint.effect == NO_EXECUTE:
            since = _since(taint, [before.dated] if before is not None else [], now)
            self._rules[name] = _Ruled(selector, _Dated(taint, since))
        if self._rules.get(name) != before:
            for claims in self._claims.values():
                for key in claims:
                    self._changed.add(key)

    def reconcile(self, store: Store, now: int) -> None:
        # First, so that a new rule tells whom it drives away before they are gone.
        for name in self._reports.take(now):
            self._report(store, name, now)
        for key in self._changed.take(now):
            claim = store.find(ResourceClaim, *key)
            for name in _users(claim) if claim is not None else ():
                self._pods.add((key[0], name))
        for key in self._pods.take(now):
            self._schedule(store, key, now)
        for key in self._evictions.pop_due(now):
            self._evict(store, key, now)

    def wake_at(self) -> int | None:
        return earliest(
            self._reports.wake_at(), self._changed.wake_at(), self._pods.wake_at(), self._evictions.next_at()
        )

    def _schedule(self, store: Store, key: NamespacedName, now: int) -> None:
        pod = store.find(Pod, *key)
        reasons = self._reasons(store, pod, self._rules) if pod is not None else []
        if not reasons:
            self._evictions.cancel(key)
            return
        self._evictions.set(key, min(reason.at for reason in reasons))
        for reason in reasons:
            self._report_later(reason.rule, now)

    def _evict(self, store: Store, key: NamespacedName, now: int) -> None:
        """A pod that is leaving already counts for its rules, too, as upstream does, but each pod only once."""
        pod = store.find(Pod, *key)
        if pod is None or pod.metadata.uid in self._counted:
            return
        rules = {reason.rule for reason in self._reasons(store, pod, self._rules)}
        self._counted.add(pod.metadata.uid)
        if pod.metadata.deletion_timestamp is None:
            evict(store, key, _BECAUSE_OF_TAINT, now)
        for name in sorted(rules):
            rule = store.find(DeviceTaintRule, "", name) if name else None
            if rule is not None:
                self._evicted_by[rule.metadata.uid] += 1
                self._report_later(name, now)

    def _report_later(self, rule: str, now: int) -> None:
        if rule:
            self._reports.add_at(rule, now + STATUS_PERIOD_NS)

    def _report(self, store: Store, name: str, now: int) -> None:
        rule = store.find(DeviceTaintRule, "", name)
        if rule is None:
            return
        if (until := standing_until(rule)) > now:
            self._reports.add_at(name, until)
            return
        counts = self._counts(store, rule)
        reported = with_eviction_condition(rule, counts, now)
        if reported is not rule:
            with suppress(NotFound, Conflict):
                store.modify_status(
                    DeviceTaintRule, "", name, lambda stored: with_eviction_condition(stored, counts, now), now
                )

    def _counts(self, store: Store, rule: DeviceTaintRule) -> RuleCounts:
        """What a rule without an effect would do is found as if it were the only one."""
        name, selector, taint = rule.metadata.name, rule.spec.device_selector, rule.spec.taint
        evicted = self._evicted_by[rule.metadata.uid]
        if taint.effect == NO_EXECUTE:
            return RuleCounts(*self._pending(store, name, self._rules), evicted=evicted)
        if taint.effect != NO_EFFECT or selector is None:
            return RuleCounts(evicted=evicted)
        supposed = {name: _Ruled(selector, _Dated(replace(taint, effect=NO_EXECUTE), 0))}
        published = sum(
            selector.selects(pool.driver, pool.name, device.name)
            for pool, slices in self._slices.items()
            for each in _of_newest_generation(slices)
            for device in each.spec.devices
        )
        allocated = sum(
            selector.selects(result.driver, result.pool, result.device)
            for claim in self._allocated(store)
            for result in _results(claim)
        )
        return RuleCounts(*self._pending(store, name, supposed), published, allocated, evicted)

    def _pending(self, store: Store, name: str, rules: Mapping[str, _Ruled]) -> tuple[int, int]:
        """How many pods have to go because of the rule, and of how many namespaces."""
        keys = {(claim.metadata.namespace, user) for claim in self._allocated(store) for user in _users(claim)}
        pods = (store.find(Pod, *key) for key in keys)
        pending = [
            pod
            for pod in pods
            if pod is not None
            and pod.metadata.deletion_timestamp is None
            and any(reason.rule == name for reason in self._reasons(store, pod, rules))
        ]
        return len(pending), len({pod.metadata.namespace for pod in pending})

    def _allocated(self, store: Store) -> Iterator[ResourceClaim]:
        for key in dict.fromkeys(key for claims in self._claims.values() for key in claims):
            claim = store.find(ResourceClaim, *key)
            if claim is not None:
                yield claim

    def _reasons(self, store: Store, pod: Pod, rules: Mapping[str, _Ruled]) -> list[_Reason]:
        """Why the pod has to go, under these rules; nothing if it may stay."""
        if not pod.spec.node_name:
            return []
        found: list[_Reason] = []
        for name, is_generated in names_in_use(pod):
            claim = store.find(ResourceClaim, pod.metadata.namespace, name)
            if claim is None or (is_generated and not is_made_for(claim, pod)):
                continue
            if any(user.uid == pod.metadata.uid for user in claim.status.reserved_for):
                found += self._reasons_of(claim, rules)
        return found

    def _reasons_of(self, claim: ResourceClaim, rules: Mapping[str, _Ruled]) -> Iterator[_Reason]:
        """When each taint of the claim's devices drives its users away."""
        for result in _results(claim):
            for dated, rule in self._taints_of(result, rules):
                seconds = _seconds_to_stay(result, dated.taint)
                if seconds is not None:
                    yield _Reason(dated.since + seconds * SECOND, rule)

    def _taints_of(
        self, used: DeviceRequestAllocationResult, rules: Mapping[str, _Ruled]
    ) -> Iterator[tuple[_Dated, str]]:
        """Of its slice and of rules, with their names; a device that no slice has any more can still have those."""
        for dated in self._tainted.get(_Pool(used.driver, used.pool), {}).get(used.device, ()):
            yield dated, ""
        for name, ruled in rules.items():
            if ruled.selector.selects(used.driver, used.pool, used.device):
                yield ruled.dated, name


def _taints_in(slices: dict[str, ResourceSlice], before: dict[str, list[_Dated]], now: int) -> dict[str, list[_Dated]]:
    """The NoExecute taints of a pool's devices, by device; slices of an old generation do not count."""
    found: dict[str, list[_Dated]] = {}
    for each in _of_newest_generation(slices):
        for device in each.spec.devices:
            taints = [
                _Dated(taint, _since(taint, before.get(device.name, []), now))
                for taint in device.taints
                if taint.effect == NO_EXECUTE
            ]
            if taints:
                found[device.name] = taints
    return found


def _of_newest_generation(slices: dict[str, ResourceSlice]) -> list[ResourceSlice]:
    newest = max((each.spec.pool.generation for each in slices.values()), default=0)
    return [each for each in slices.values() if each.spec.pool.generation == newest]


def _since(taint: DeviceTaint, before: list[_Dated], now: int) -> int:
    if taint.time_added is not None:
        return parse_time(taint.time_added)
    return next((dated.since for dated in before if dated.taint == taint), now)


def _seconds_to_stay(result: DeviceRequestAllocationResult, taint: DeviceTaint) -> int | None:
    """None for ever; the shortest time that the tolerations name, which have to name the effect as well."""
    used = [t for t in result.tolerations if t.effect == NO_EXECUTE and tolerates_taint(t, taint)]
    if any(toleration.toleration_seconds is None for toleration in used):
        return None
    return min((max(0, toleration.toleration_seconds or 0) for toleration in used), default=0)


def _results(claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else []


def _pools_of(claim: ResourceClaim) -> set[_Pool]:
    return {_Pool(result.driver, result.pool) for result in _results(claim)}


def _users(claim: ResourceClaim) -> Iterator[str]:
    return (user.name for user in claim.status.reserved_for if user.resource == "pods" and not user.api_group)


def _may_matter(old: object, new: Pod) -> bool:
    if not isinstance(old, Pod):
        return True
    return (
        old.spec.node_name != new.spec.node_name
        or old.status.resource_claim_statuses != new.status.resource_claim_statuses
    )
