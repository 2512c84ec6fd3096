"""All kubelets at once: pods start, run, end and stop on the nodes they are bound to.

Takes pods with a node and writes what their kubelet would: Running, Ready and the start time after a delay; Succeeded
or Failed when a pod that has a run time has had it; and when a pod is to be deleted, it goes once its processes had
time to stop, at the latest when its grace period ends. On a node that is missing or down nothing happens until it is
back: processes there run on, but nobody hears of it. Containers, probes, restarts and images are not modelled.

A pod costs memory only while something is due for it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import ClassVar, NamedTuple, TypeAlias

from msgspec.structs import replace

from bayplan.controllers.conditions import FALSE, READY, TRUE, is_ready, with_condition, with_pod_condition
from bayplan.controllers.delays import NS_PER_SECOND, Delays, FixedDelays
from bayplan.controllers.ownership import is_terminal
from bayplan.controllers.timers import Timers, earliest
from bayplan.model.meta import Condition
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.timestamps import parse_time
from bayplan.store.errors import Conflict, NotFound
from bayplan.store.log import ADDED, DELETED, Change
from bayplan.store.objects import Store
from bayplan.store.stamping import written_time

RUN_SECONDS = "bayplan/run-seconds"
STOP_SECONDS = "bayplan/stop-seconds"
FAILS = "bayplan/fails"

PodKey: TypeAlias = tuple[str, str]
"""Namespace and name."""

_START, _END, _STOP = "start", "end", "stop"
_COMPLETED = Condition(type=READY, status=FALSE, reason="PodCompleted")
_FAILED = Condition(type=READY, status=FALSE, reason="PodFailed")


class _Plan(NamedTuple):
    """What is due next for one pod."""

    uid: str
    action: str
    heard_at: int
    """When the kubelet first knew of the pod; of interest until it has started."""


def annotated_run_seconds(pod: Pod) -> float | None:
    """How long the pod runs by its annotation; None for one that runs until it is deleted."""
    return _annotated_seconds(pod, RUN_SECONDS)


class Kubelet:
    """The kubelets of all nodes.

    Args:
        delays: start-up and stopping times.
        run_seconds: how long a pod runs before it ends by itself; None if it does not.
    """

    name: ClassVar[str] = "kubelet"

    def __init__(
        self, delays: Delays | None = None, run_seconds: Callable[[Pod], float | None] = annotated_run_seconds
    ) -> None:
        self._delays = delays or FixedDelays()
        self._run_seconds = run_seconds
        self._plans: dict[PodKey, _Plan] = {}
        self._timers: Timers[PodKey] = Timers()
        self._down: set[str] = set()  # only ever asked, never iterated
        self._held: dict[str, dict[PodKey, None]] = {}
        """Pods whose time came while their node was away."""
        self._back: dict[str, int] = {}
        """Nodes that have come back and since when, until their pods have been looked at."""

    def node_down(self, name: str, now: int) -> None:  # noqa: ARG002
        """From now on nothing happens on the node."""
        self._down.add(name)
        self._back.pop(name, None)

    def node_up(self, name: str, now: int) -> None:
        """The node is back: what should have happened on it happens now."""
        self._down.discard(name)
        self._back[name] = now

    def observe(self, change: Change, now: int) -> None:
        one = change.new
        if isinstance(one, Pod):
            if change.type == DELETED:
                self._forget(one)
            elif one.spec.node_name:
                self._plan(one, now)
        elif isinstance(one, Node) and change.type == ADDED and one.metadata.name not in self._down:
            self._back[one.metadata.name] = now

    def reconcile(self, store: Store, now: int) -> None:
        back, self._back = self._back, {}
        for name in back:
            self._resume(store, name, now)
        for key in self._timers.pop_due(now):
            self._act(store, key, now)

    def wake_at(self) -> int | None:
        return earliest(self._timers.next_at(), *self._back.values())

    # What is due, and when.

    def _plan(self, pod: Pod, now: int) -> None:
        key = _key(pod)
        plan = self._plans.get(key)
        if plan is not None and plan.uid != pod.metadata.uid:
            self._forget(pod)
            plan = None
        if pod.metadata.deletion_timestamp is not None:
            self._plan_stop(pod, plan, now)
        elif is_terminal(pod):
            self._forget(pod)
        elif plan is None and pod.status.phase == "Running":
            self._plan_end(pod, _started_at(pod, now))
        elif plan is None:
            self._schedule(pod, _START, now + self._delays.start_ns(pod), heard_at=now)

    def _plan_stop(self, pod: Pod, plan: _Plan | None, now: int) -> None:
        if _has_stopped(pod):
            self._forget(pod)
            return
        grace_ns = (pod.metadata.deletion_grace_period_seconds or 0) * NS_PER_SECOND
        if plan is not None and plan.action == _STOP:
            # A second request can only shorten the grace period.
            if _key(pod) in self._timers:
                self._timers.set_earlier(_key(pod), now + grace_ns)
            return
        self._drop_plan(pod)
        # What never ran has nothing to stop.
        stop_ns = min(grace_ns, self._stop_ns(pod)) if pod.status.phase == "Running" else 0
        self._schedule(pod, _STOP, now + stop_ns)

    def _stop_ns(self, pod: Pod) -> int:
        seconds = _annotated_seconds(pod, STOP_SECONDS)
        return self._delays.stop_ns(pod) if seconds is None else _to_ns(seconds)

    def _plan_end(self, pod: Pod, started_at: int) -> None:
        seconds = self._run_seconds(pod)
        if seconds is not None:
            self._schedule(pod, _END, started_at + _to_ns(seconds))

    def _schedule(self, pod: Pod, action: str, at: int, heard_at: int = 0) -> None:
        key = _key(pod)
        self._plans[key] = _Plan(pod.metadata.uid, action, heard_at)
        self._timers.set(key, at)

    def _forget(self, pod: Pod) -> None:
        if _key(pod) in self._plans:
            self._drop_plan(pod)

    def _drop_plan(self, pod: Pod) -> None:
        key = _key(pod)
        self._plans.pop(key, None)
        self._timers.cancel(key)
        held = self._held.get(pod.spec.node_name)
        if held is not None:
            held.pop(key, None)
            if not held:
                del self._held[pod.spec.node_name]

    # Doing it.

    def _act(self, store: Store, key: PodKey, now: int) -> None:
        plan = self._plans[key]
        pod = store.find(Pod, *key)
        if pod is None or pod.metadata.uid != plan.uid:
            del self._plans[key]
            return
        node_name = pod.spec.node_name
        if node_name in self._down or store.find(Node, "", node_name) is None:
            self._held.setdefault(node_name, {})[key] = None
            return
        del self._plans[key]
        with suppress(NotFound, Conflict):
            if plan.action == _STOP:
                _stop(store, pod, now)
            elif pod.metadata.deletion_timestamp is None and not is_terminal(pod):
                if plan.action == _START:
                    self._start(store, pod, plan.heard_at, now)
                else:
                    _end(store, pod, now)

    def _start(self, store: Store, pod: Pod, heard_at: int, now: int) -> None:
        def start(stored: Pod) -> Pod:
            status = stored.status
            conditions = with_condition(status.conditions, _ready(), written_time(now))
            since = status.start_time or written_time(heard_at)
            return replace(stored, status=replace(status, phase="Running", start_time=since, conditions=conditions))

        written = store.modify_status(Pod, *_key(pod), start, now)
        self._plan_end(written, now)

    def _resume(self, store: Store, node_name: str, now: int) -> None:
        """Lets a node that is back catch up."""
        for key in self._held.pop(node_name, {}):
            plan = self._plans[key]
            pod = store.find(Pod, *key)
            if plan.action == _START and pod is not None:
                self._schedule(pod, _START, now + self._delays.start_ns(pod), heard_at=now)
            else:
                self._timers.set(key, now)
        if store.find(Node, "", node_name) is None:
            return
        for pod in store.pods_on_node(node_name):
            if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None and not is_ready(pod):
                with suppress(NotFound, Conflict):
                    store.modify_status(Pod, *_key(pod), lambda one: with_pod_condition(one, _ready(), written_time(now)), now)


def _end(store: Store, pod: Pod, now: int) -> None:
    fails = pod.metadata.annotations.get(FAILS, "false") != "false"
    phase, condition = ("Failed", _FAILED) if fails else ("Succeeded", _COMPLETED)
    store.modify_status(
        Pod, *_key(pod), lambda one: with_pod_condition(one, condition, written_time(now), phase=phase), now
    )


def _stop(store: Store, pod: Pod, now: int) -> None:
    meta = pod.metadata
    if meta.finalizers and not is_terminal(pod):
        # The object outlives its processes, so it has to say that these are gone.
        store.modify_status(
            Pod, *_key(pod), lambda one: with_pod_condition(one, _FAILED, written_time(now), phase="Failed"), now
        )
    if meta.deletion_grace_period_seconds != 0 or not meta.finalizers:
        store.delete(Pod, meta.namespace, meta.name, now, grace_seconds=0, uid=meta.uid)
