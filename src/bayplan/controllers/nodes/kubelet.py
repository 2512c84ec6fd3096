"""All kubelets at once: pods start, run, end and stop on the nodes they are bound to.

Takes pods with a node and writes what their kubelet would: Running, Ready and the start time after a delay; Succeeded
or Failed when a pod that has a run time has had it; and when a pod is to be deleted, it goes once its processes had
time to stop, at the latest when its grace period ends; `preStop.sleep` and `activeDeadlineSeconds` count. On a node
that is missing or down nothing happens until it is back: processes there run on, but nobody hears of it. Containers
are known by their exit codes if they fail; probes, restarts, images and hooks that run something are not modeled.

A pod costs memory only while something is due for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from math import isfinite
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from bayplan.controllers.delays import Delays, FixedDelays
from bayplan.controllers.nodes.pod_admission import PodRejection, refusal_of
from bayplan.controllers.ownership import NamespacedName, is_active, is_terminal
from bayplan.controllers.timers import Timers
from bayplan.controllers.work_queue import AT_ONCE
from bayplan.controllers.writes import delete_pod
from bayplan.model.conditions import FALSE, TRUE, find_condition, with_condition, with_pod_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import (
    FINISHED_PHASES,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodStatus,
)
from bayplan.model.shared_steps import shared_step
from bayplan.model.structs import Struct, replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.model.well_known import READY
from bayplan.store import Conflict, NotFound, Store, WatchEvent

#: With any other prefix these mean the same.
RUN_SECONDS = "bayplan/run-seconds"
STOP_SECONDS = "bayplan/stop-seconds"
FAILS = "bayplan/fails"
EXIT_CODE = "bayplan/exit-code"

_NONE: Mapping[str, int] = MappingProxyType({})
_EXIT_CODE_MAX = 255
_START, _END, _EXPIRE, _STOP = "start", "end", "expire", "stop"
_RUNNING = Condition(type=READY, status=TRUE)
_COMPLETED = Condition(type=READY, status=FALSE, reason="PodCompleted")
_EXPIRED = "Pod was active on the node longer than the specified deadline"
_FAILED = Condition(type=READY, status=FALSE, reason="PodFailed")


class _Plan(Struct, frozen=True, gc=False):
    """What is due next for one pod."""

    uid: str
    node_name: str
    action: str
    heard_at: int
    """When the kubelet first knew of the pod; of interest until it has started."""


def annotated_run_seconds(pod: Pod) -> float | None:
    """How long the pod runs by its annotation; None for one that runs until it is deleted."""
    return annotated_seconds(pod.metadata, RUN_SECONDS)


def annotated_exit_codes(pod: Pod) -> Mapping[str, int]:
    """The exit codes of containers that fail when the pod ends, by its annotations: all of them, or none."""
    if not pod.metadata.annotations:
        return _NONE
    code = _exit_code(_annotated(pod.metadata, EXIT_CODE)) or int(is_to_fail(pod.metadata))
    return dict.fromkeys((container.name for container in pod.spec.containers), code) if code else _NONE


class Initialization(NamedTuple):
    """How a pod's init containers end."""

    seconds: float
    exit_codes: Mapping[str, int]
    """Of those that fail; if any does, the pod does not start."""
    is_repeated: bool
    """Whether those that fail are started again, so that the pod waits; who does that is not for the kubelet here."""


class Kubelet:
    """The kubelets of all nodes.

    Args:
        delays: start-up and stopping times.
        run_seconds: how long a pod runs before it ends by itself; None if it does not.
        exit_codes: by name, how containers then end that fail; if any does, the pod fails.
        initialization: how init containers end; None if they take no time and succeed.
        is_strict: whether pods that do not fit their node are refused, and pods that are deleted are said to have ended
            before they go. Where only the scheduler gives nodes to pods, neither makes a difference to anybody.
    """

    name: ClassVar[str] = "kubelet"
    watches: ClassVar[frozenset[str]] = frozenset({"Node", "Pod"})

    def __init__(
        self,
        delays: Delays | None = None,
        run_seconds: Callable[[Pod], float | None] = annotated_run_seconds,
        exit_codes: Callable[[Pod], Mapping[str, int]] = annotated_exit_codes,
        initialization: Callable[[Pod], Initialization | None] = lambda _: None,
        *,
        is_strict: bool = False,
    ) -> None:
        self._is_strict = is_strict
        self._delays = delays or FixedDelays()
        self._run_seconds = run_seconds
        self._exit_codes = exit_codes
        self._initialization = initialization
        self._plans: dict[NamespacedName, _Plan] = {}
        self._timers: Timers[NamespacedName] = Timers()
        self._down: set[str] = set()  # only ever asked, never iterated
        self._held: dict[str, dict[NamespacedName, None]] = {}
        """By node, pods whose time came while it was away."""
        self._back: dict[str, None] = {}
        """Nodes that have come, until their pods have been looked at."""

    def node_down(self, name: str, now: int) -> None:  # noqa: ARG002
        """From now on nothing happens on the node."""
        self._down.add(name)
        self._back.pop(name, None)

    def node_up(self, name: str, now: int) -> None:  # noqa: ARG002
        """The node is back: what should have happened on it happens now."""
        self._down.discard(name)
        self._back[name] = None

    def observe(self, change: WatchEvent, now: int) -> None:
        obj, meta = change.new, change.new.metadata
        if isinstance(obj, Pod):
            if not obj.spec.node_name:
                return  # it is no kubelet's yet
            key = meta.namespace, meta.name
            if change.type == DELETED:
                if key in self._plans:
                    self._drop(key)
            elif meta.deletion_timestamp is None or not _goes_at_once(change.old, obj):
                self._plan(key, obj, now)
        elif change.type == ADDED and meta.name not in self._down:
            self._back[meta.name] = None

    def reconcile(self, store: Store, now: int) -> None:
        if self._back:
            back, self._back = self._back, {}
            for name in back:
                self._resume(store, name, now)
        while (key := self._timers.pop_if_due(now)) is not None:
            self._act(store, key, now)

    def wake_at(self) -> int | None:
        return AT_ONCE if self._back else self._timers.next_at()

    # What is due, and when.

    def _plan(self, key: NamespacedName, pod: Pod, now: int) -> None:
        plan, meta, status = self._plans.get(key), pod.metadata, pod.status
        if plan is not None and plan.uid != meta.uid:
            self._drop(key)
            plan = None
        if meta.deletion_timestamp is not None:
            self._plan_stop(key, pod, plan, now)
        elif plan is not None:
            if status.phase in FINISHED_PHASES:
                self._drop(key)
            elif plan.action in (_END, _EXPIRE) and pod.spec.active_deadline_seconds is not None:
                self._plan_end(key, pod, _started_at(status, now))
        elif status.phase == "Running":
            self._plan_end(key, pod, _started_at(status, now))
        elif status.phase not in FINISHED_PHASES:
            self._plan_start(key, pod, now)

    def _plan_start(self, key: NamespacedName, pod: Pod, now: int) -> None:
        initialization = self._initialization(pod) if pod.spec.init_containers else None
        begun_ns = 0 if initialization is None else _to_ns(initialization.seconds)
        self._schedule(key, pod, _START, now + self._delays.start_ns(pod) + begun_ns, heard_at=now)

    def _plan_stop(self, key: NamespacedName, pod: Pod, plan: _Plan | None, now: int) -> None:
        grace_ns = (pod.metadata.deletion_grace_period_seconds or 0) * SECOND
        if _has_only_finalizers_left(pod):
            self._drop(key)
        elif plan is None or plan.action != _STOP:
            self._drop(key)
            # What does not run has nothing to stop.
            stop_ns = min(grace_ns, self._stop_ns(pod)) if pod.status.phase == "Running" else 0
            self._schedule(key, pod, _STOP, now + stop_ns)
        elif key in self._timers:
            # A second request to delete can only shorten the grace period.
            self._timers.set_earlier(key, now + grace_ns)

    def _stop_ns(self, pod: Pod) -> int:
        seconds = annotated_seconds(pod.metadata, STOP_SECONDS)
        return _hook_ns(pod) + (self._delays.stop_ns(pod) if seconds is None else _to_ns(seconds))

    def _plan_end(self, key: NamespacedName, pod: Pod, started_at: int) -> None:
        seconds, deadline = self._run_seconds(pod), pod.spec.active_deadline_seconds
        if deadline is not None and (seconds is None or deadline < seconds):
            self._schedule(key, pod, _EXPIRE, started_at + deadline * SECOND)
        elif seconds is not None:
            self._schedule(key, pod, _END, started_at + _to_ns(seconds))

    def _schedule(self, key: NamespacedName, pod: Pod, action: str, at: int, heard_at: int = 0) -> None:
        self._plans[key] = _Plan(pod.metadata.uid, pod.spec.node_name, action, heard_at)
        self._timers.set(key, at)

    def _drop(self, key: NamespacedName) -> None:
        plan = self._plans.pop(key, None)
        if plan is None:
            return
        self._timers.cancel(key)
        held = self._held.get(plan.node_name)
        if held is not None and key in held:
            del held[key]
            if not held:
                del self._held[plan.node_name]

    # Doing it.

    def _act(self, store: Store, key: NamespacedName, now: int) -> None:
        plan, (namespace, name) = self._plans[key], key
        pod = store.find(Pod, namespace, name)
        if pod is None or pod.metadata.uid != plan.uid:
            del self._plans[key]
            return
        if plan.node_name in self._down or store.find(Node, "", plan.node_name) is None:
            self._held.setdefault(plan.node_name, {})[key] = None
            return
        del self._plans[key]
        try:
            if plan.action == _STOP:
                _stop(store, pod, now, says_so=self._is_strict)
            elif is_active(pod):
                if plan.action == _START:
                    self._start(store, key, pod, plan.heard_at, now)
                else:
                    self._end(store, pod, plan.action, now)
        except (NotFound, Conflict):
            pass  # somebody was faster, and news of it are on the way

    def _start(self, store: Store, key: NamespacedName, pod: Pod, heard_at: int, now: int) -> None:
        refusal = self._refusal(store, pod) if self._is_strict else None
        initialization = self._initialization(pod) if pod.spec.init_containers else None
        status = pod.status
        if refusal is not None:
            status = replace(status, reason=refusal.reason, message=refusal.message)
            store.set_status(pod, _ended(status, "Failed", now // SECOND), now)
        elif initialization is None or not initialization.exit_codes:
            self._plan_end(key, _start(store, pod, heard_at, now), now)
        elif not initialization.is_repeated:
            failed = _with_exit_codes(status.init_container_statuses, initialization.exit_codes)
            status = replace(status, init_container_statuses=failed, start_time=format_time(heard_at))
            store.set_status(pod, _ended(status, "Failed", now // SECOND), now)

    def _end(self, store: Store, pod: Pod, action: str, now: int) -> None:
        status, phase = pod.status, "Failed"
        if action == _EXPIRE:
            status = replace(status, reason="DeadlineExceeded", message=_EXPIRED)
        elif codes := self._exit_codes(pod):
            status = replace(status, container_statuses=_with_exit_codes(status.container_statuses, codes))
        else:
            phase = "Succeeded"
        store.set_status(pod, _ended(status, phase, now // SECOND), now)

    @staticmethod
    def _refusal(store: Store, pod: Pod) -> PodRejection | None:
        node = store.find(Node, "", pod.spec.node_name)
        others = [other for other in store.pods_on_node(pod.spec.node_name) if other.status.phase == "Running"]
        return None if node is None else refusal_of(pod, node, others)

    def _resume(self, store: Store, node_name: str, now: int) -> None:
        """Lets a node that is there again catch up."""
        for key in self._held.pop(node_name, {}):
            pod = store.find(Pod, *key)
            if self._plans[key].action == _START and pod is not None:
                self._plan_start(key, pod, now)
            else:
                self._timers.set(key, now)
        for pod in store.pods_on_node(node_name):
            if is_active(pod) and _is_thought_unready(pod):
                with suppress(NotFound, Conflict):
                    _write(store, pod, _RUNNING, None, now)


def _started_at(status: PodStatus, now: int) -> int:
    return now if status.start_time is None else parse_time(status.start_time)


def _start(store: Store, pod: Pod, heard_at: int, now: int) -> Pod:
    return store.set_status(pod, _started(pod.status, heard_at // SECOND, now // SECOND), now)


@shared_step
def _started(status: PodStatus, heard_at_second: int, second: int) -> PodStatus:
    # Kubernetes notes when the kubelet took notice of the pod, not when its containers were up.
    since = status.start_time or format_time(heard_at_second * SECOND)
    conditions = with_condition(status.conditions, _RUNNING, format_time(second * SECOND))
    return replace(status, phase="Running", start_time=since, conditions=conditions)


@shared_step
def _ended(status: PodStatus, phase: str, second: int) -> PodStatus:
    condition = _FAILED if phase == "Failed" else _COMPLETED
    conditions = with_condition(status.conditions, condition, format_time(second * SECOND))
    return replace(status, phase=phase, conditions=conditions)


def _with_exit_codes(statuses: list[ContainerStatus], codes: Mapping[str, int]) -> list[ContainerStatus]:
    """The statuses, in which containers of these names have ended so."""
    named = {status.name: status for status in statuses}
    for name, code in codes.items():
        ended = ContainerState(terminated=ContainerStateTerminated(exit_code=code))
        named[name] = replace(named.get(name) or ContainerStatus(name=name), state=ended)
    return [*named.values()]


def is_to_fail(meta: ObjectMeta) -> bool:
    return (_annotated(meta, FAILS) or "false") != "false"


def _hook_ns(pod: Pod) -> int:
    """How long containers sleep before they are asked to stop."""
    hooks = (one.lifecycle.pre_stop for one in pod.spec.containers if one.lifecycle is not None)
    sleeps = (hook.sleep.seconds for hook in hooks if hook is not None and hook.sleep is not None)
    return max(sleeps, default=0) * SECOND


def _stop(store: Store, pod: Pod, now: int, *, says_so: bool) -> None:
    meta = pod.metadata
    if meta.deletion_timestamp is None:
        return
    if (meta.finalizers or (says_so and pod.status.phase == "Running")) and not is_terminal(pod):
        # The object outlives its processes, so it has to say that these are gone.
        _write(store, pod, _FAILED, "Failed", now)
    if not _has_only_finalizers_left(pod):
        delete_pod(store, pod, now, grace_seconds=0)


def _write(store: Store, pod: Pod, condition: Condition, phase: str | None, now: int) -> None:
    store.update_status(with_pod_condition(pod, condition, format_time(now), phase=phase), now)


def _goes_at_once(old: Object | None, pod: Pod) -> bool:
    """Whether a pod that has ended is marked for deletion and nothing keeps it: the API server removes it next."""
    meta = pod.metadata
    return old is not None and meta.deletion_grace_period_seconds == 0 and not meta.finalizers and is_terminal(pod)


def _has_only_finalizers_left(pod: Pod) -> bool:
    meta = pod.metadata
    return bool(meta.finalizers) and meta.deletion_grace_period_seconds == 0 and is_terminal(pod)


def _is_thought_unready(pod: Pod) -> bool:
    """Whether its node's absence is why it counts as not ready; a kubelet would have given a reason."""
    condition = find_condition(pod.status.conditions, READY)
    return condition is not None and condition.status == FALSE and not condition.reason


def _annotated(meta: ObjectMeta, annotation: str) -> str | None:
    """What the annotation says; others say the same with a prefix of their own, and are understood."""
    annotations = meta.annotations
    written = annotations.get(annotation)
    if written is not None or not annotations:
        return written
    suffix = _suffix(annotation)
    for key, value in annotations.items():
        if key.endswith(suffix):
            return value
    return None


@cache
def _suffix(annotation: str) -> str:
    return annotation[annotation.index("/") :]


def annotated_seconds(meta: ObjectMeta, annotation: str) -> float | None:
    """The number in the annotation; None when there is none, or none that makes sense."""
    written = _annotated(meta, annotation)
    return None if written is None else _seconds(written)


@lru_cache(maxsize=1024)  # pods of one workload say the same
def _seconds(written: str) -> float | None:
    try:
        seconds = float(written)
    except ValueError:
        return None
    if not isfinite(seconds):
        return None
    return seconds if seconds > 0 else 0.0


@lru_cache(maxsize=1024)
def _exit_code(written: str | None) -> int:
    """The number in the annotation; 0 when there is none, or none that processes end with."""
    if written is None or not written.isdecimal() or len(written) > 3:
        return 0
    return code if (code := int(written)) <= _EXIT_CODE_MAX else 0


def _to_ns(seconds: float) -> int:
    return round(seconds * SECOND)
