"""DaemonSets: one pod on every node that should have one.

Hears of nodes, of DaemonSets and of their pods, and looks only at the nodes something happened to: a node that comes,
goes or changes its labels or taints is looked at for every set, a pod for its own node alone. A pod names its node by
a match field and is placed by the scheduler like any other. One that ended is deleted, each time a little later, and
replaced when it has gone. A new template is rolled out node by node (RollingUpdate without surge). Pods that are
bound to a node which no longer exists are left to those who collect such pods.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from bayplan.controllers.int_or_percent import scaled_value
from bayplan.controllers.ownership import NamespacedName, controller_reference, is_terminal, namespaced_name
from bayplan.controllers.tally import Tally
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.availability import available_at
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces, daemon_template, pin, pinned_to
from bayplan.controllers.workloads.pods_from_templates import Stamp
from bayplan.controllers.workloads.rollout import ON_DELETE
from bayplan.controllers.workloads.templates import REVISION_HASH, Revisions
from bayplan.controllers.writes import delete_pod, only_status_changed, write_status
from bayplan.model.conditions import is_ready
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodTemplateSpec
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.watch_types import ADDED, DELETED, MODIFIED
from bayplan.model.workloads import DaemonSet, DaemonSetStatus, RollingUpdate
from bayplan.store import ApiError, Store, WatchEvent

Key: TypeAlias = tuple[NamespacedName, str]
"""A set and the node to look at, "" for all."""

# Upstream: cmd/kube-controller-manager/app/apps.go, the backoff given to the daemon controller (v1.36).
FAILED_WAIT_MIN_NS = SECOND
FAILED_WAIT_MAX_NS = 15 * MINUTE

_ALL_NODES = ""
_NO_NODE = "/"
"""Only the status is to be looked at; no node has this name."""
_DESIRED, _CURRENT, _READY, _AVAILABLE, _UPDATED, _MISPLACED = 1, 2, 4, 8, 16, 32


class DaemonSetController(Reconciler[Key]):
    """Keeps one pod of each DaemonSet on each node that should have it."""

    name: ClassVar[str] = "daemonset-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"DaemonSet", "Node", "Pod"})

    def __init__(self) -> None:
        super().__init__()
        self._daemons: dict[NamespacedName, _Daemons] = {}
        self._revisions = Revisions()
        self._touched: dict[NamespacedName, None] = {}
        """Sets some of whose nodes were looked at, so that their status may have changed."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            self._observe_pod(change)
        elif change.kind == "Node":
            if change.type != MODIFIED or _matters_to_daemons(change):
                for key in self._daemons:
                    self._queue.add((key, change.new.metadata.name))
        elif change.kind == "DaemonSet":
            self._observe_owner(change)

    def _observe_pod(self, change: WatchEvent) -> None:
        pod = change.new
        reference = controller_reference(pod.metadata)
        if reference is None or reference.kind != "DaemonSet":
            return
        assert isinstance(pod, Pod)
        key = pod.metadata.namespace, reference.name
        daemons = self._daemons.get(key)
        # What a set had before it was first heard of is found when it is.
        if daemons is not None and daemons.uid == reference.uid:
            node_name = daemons.file(pod, is_gone=change.type == DELETED)
            self._queue.add((key, node_name))

    def _observe_owner(self, change: WatchEvent) -> None:
        owner = change.new
        assert isinstance(owner, DaemonSet)
        key = namespaced_name(owner)
        if change.type == DELETED:
            self._daemons.pop(key, None)
            self._revisions.forget(owner.metadata.uid)
        elif change.type == ADDED:
            self._daemons[key] = _Daemons(owner)
            self._queue.add((key, _ALL_NODES))
        else:
            self._queue.add((key, _NO_NODE if only_status_changed(change) else _ALL_NODES))

    def reconcile(self, store: Store, now: int) -> None:
        super().reconcile(store, now)
        touched, self._touched = self._touched, {}
        for key in touched:
            owner, daemons = store.find(DaemonSet, *key), self._daemons.get(key)
            if owner is None or daemons is None:
                continue
            try:
                self._roll(store, owner, daemons, now)
                _write_status(store, owner, daemons, now)
            except ApiError:
                self._add_rate_limited((key, _ALL_NODES), now)

    def _sync(self, store: Store, key: Key, now: int) -> None:
        set_key, node_name = key
        owner, daemons = store.find(DaemonSet, *set_key), self._daemons.get(set_key)
        if owner is None or daemons is None or owner.metadata.uid != daemons.uid:
            return
        self._revisions.observe(daemons.uid, owner.spec.template)
        daemons.follow(owner, self._revisions.hash_of(daemons.uid))
        if node_name == _NO_NODE:
            self._touched[set_key] = None
            return
        if node_name != _ALL_NODES:
            self._touched[set_key] = None
            self._look_at(store, owner, daemons, node_name, now)
            return
        daemons.find_pods(store)
        node_names = dict.fromkeys(node.metadata.name for node in store.list(Node))
        node_names.update(dict.fromkeys(daemons.pods))
        for name in node_names:
            self._queue.add((set_key, name))
        if not node_names:
            self._touched[set_key] = None

    def _look_at(self, store: Store, owner: DaemonSet, daemons: _Daemons, node_name: str, now: int) -> None:
        node = store.find(Node, "", node_name)
        pods = daemons.pods_for(store, node_name)
        if owner.metadata.deletion_timestamp is None:
            if node is None:
                surplus = [pod for pod in pods if not pod.spec.node_name]
            elif daemons.places.keep(node):
                surplus = self._surplus(owner, node_name, pods, now)
            else:
                surplus = pods
            _delete(store, surplus, now)
            if not pods and node is not None and daemons.places.include(node):
                daemons.file(store.create(daemons.pod_for(node_name), now), is_gone=False)
            pods = daemons.pods_for(store, node_name)
        daemons.tally.note(node_name, self._marks(owner, daemons, node, pods, now))

    def _surplus(self, owner: DaemonSet, node_name: str, pods: list[Pod], now: int) -> list[Pod]:
        """Pods that ended, once it is time, and all but one of the others."""
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        ended = [pod for pod in staying if is_terminal(pod)]
        if ended and not self._may_retry(owner, node_name, now):
            ended = []
        oldest_first = sorted(
            (pod for pod in staying if not is_terminal(pod)), key=lambda pod: pod.metadata.creation_timestamp or ""
        )
        return [*ended, *oldest_first[1:]]

    def _may_retry(self, owner: DaemonSet, node_name: str, now: int) -> bool:
        """Whether an ended pod may make room for the next now; if not, the node is looked at again in time."""
        key = namespaced_name(owner)
        waits = self._daemons[key].waits
        due_at, wait = waits.get(node_name, (now, FAILED_WAIT_MIN_NS))
        if due_at > now:
            self._queue.add_at((key, node_name), due_at)
            return False
        if now - due_at > 2 * FAILED_WAIT_MAX_NS:
            wait = FAILED_WAIT_MIN_NS
        waits[node_name] = now + wait, min(2 * wait, FAILED_WAIT_MAX_NS)
        return True

    def _marks(self, owner: DaemonSet, daemons: _Daemons, node: Node | None, pods: list[Pod], now: int) -> int:
        # Upstream: pkg/controller/daemon/daemon_controller.go updateDaemonSetStatus (v1.36).
        if node is None:
            return 0
        if not daemons.places.include(node):
            return _MISPLACED if pods else 0
        if not pods:
            return _DESIRED
        pod = min(pods, key=lambda pod: pod.metadata.creation_timestamp or "")
        marks = _DESIRED | _CURRENT
        if is_ready(pod):
            marks |= _READY
        is_staying = pod.metadata.deletion_timestamp is None
        at = available_at(pod, owner.spec.min_ready_seconds) if is_staying else None
        if at is not None and at <= now:
            marks |= _AVAILABLE
        elif at is not None:
            self._queue.add_at((namespaced_name(owner), node.metadata.name), at)
        return marks | _UPDATED if self._revisions.is_current(daemons.uid, pod) else marks

    def _roll(self, store: Store, owner: DaemonSet, daemons: _Daemons, now: int) -> None:
        """Deletes pods of older templates, as many at once as may be away."""
        strategy = owner.spec.update_strategy
        tally = daemons.tally
        outdated = tally.having(_CURRENT) - tally.having(_CURRENT | _UPDATED)
        if not outdated or owner.metadata.deletion_timestamp is not None:
            return
        if strategy is not None and strategy.type == ON_DELETE:
            return
        rolling = (strategy.rolling_update if strategy is not None else None) or RollingUpdate()
        desired = tally.having(_DESIRED)
        most = scaled_value(1 if rolling.max_unavailable is None else rolling.max_unavailable, desired, round_up=True)
        budget = most - (desired - tally.having(_DESIRED | _AVAILABLE))
        for node_name in tally.names_having(_CURRENT):
            marks = tally.marks(node_name)
            if marks & _UPDATED:
                continue
            # A pod that is not there for anybody anyway may always be exchanged.
            if marks & _AVAILABLE:
                if budget <= 0:
                    continue
                budget -= 1
            _delete(store, daemons.pods_for(store, node_name), now)
            # It is away from now on, whenever that is heard of.
            tally.note(node_name, marks & ~_AVAILABLE)


class _Daemons:
    """What is known of one set: where it belongs, its pods by node, and how each node stands."""

    def __init__(self, owner: DaemonSet) -> None:
        self.uid = owner.metadata.uid
        self.places = DaemonPlaces(owner.spec.template.spec)
        self.pods: dict[str, dict[str, None]] = {}
        """Names of the set's pods by the node each is on or meant for."""
        self.tally = Tally()
        """Marks of nodes."""
        self.waits: dict[str, tuple[int, int]] = {}
        """Nodes where pods ended: when the next one may be deleted, and how long to wait after that."""
        self._namespace = owner.metadata.namespace
        self._template: PodTemplateSpec | None = None
        self._stamp: Stamp | None = None

    def follow(self, owner: DaemonSet, revision: str) -> None:
        """Takes over the owner's template, if it is another."""
        if owner.spec.template is not self._template:
            self._template = owner.spec.template
            template = daemon_template(owner)
            self.places = DaemonPlaces(template.spec)
            self._stamp = Stamp(template, owner, {REVISION_HASH: revision})

    def pod_for(self, node_name: str) -> Pod:
        """A new pod, still without a name."""
        assert self._stamp is not None
        pod = self._stamp.pod("")
        pin(pod, node_name)
        return pod

    def file(self, pod: Pod, *, is_gone: bool) -> str:
        """Notes a pod that came or went under its node, and returns that."""
        node_name = pinned_to(pod)
        names = self.pods.setdefault(node_name, {})
        if is_gone:
            names.pop(pod.metadata.name, None)
        else:
            names[pod.metadata.name] = None
        if not names:
            del self.pods[node_name]
        return node_name

    def find_pods(self, store: Store) -> None:
        """Files what is stored, whatever was told."""
        self.pods.clear()
        for pod in store.owned_by(self.uid):
            if isinstance(pod, Pod):
                self.file(pod, is_gone=False)

    def pods_for(self, store: Store, node_name: str) -> list[Pod]:
        """Those that are stored now."""
        found = (store.find(Pod, self._namespace, name) for name in self.pods.get(node_name, ()))
        return [pod for pod in found if pod is not None]


def _delete(store: Store, pods: list[Pod], now: int) -> None:
    for pod in pods:
        if pod.metadata.deletion_timestamp is None:
            delete_pod(store, pod, now)


def _write_status(store: Store, owner: DaemonSet, daemons: _Daemons, now: int) -> None:
    count = daemons.tally.having
    status: DaemonSetStatus = replace(
        owner.status,
        desired_number_scheduled=count(_DESIRED),
        current_number_scheduled=count(_CURRENT),
        number_ready=count(_READY),
        number_available=count(_AVAILABLE),
        updated_number_scheduled=count(_UPDATED),
        number_misscheduled=count(_MISPLACED),
        observed_generation=owner.metadata.generation,
    )
    write_status(store, owner, status, now)


def _matters_to_daemons(change: WatchEvent) -> bool:
    """Kubelets write their nodes' statuses all the time; only labels and taints decide who runs there."""
    old, new = change.old, change.new
    assert isinstance(old, Node)
    assert isinstance(new, Node)
    return old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints
