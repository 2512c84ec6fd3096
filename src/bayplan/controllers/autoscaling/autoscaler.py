"""The simulated autoscaler: a controller that makes pools of nodes grow and shrink.

Looks at the cluster at every scan, and at nothing in between but what is due: machines that have started, nodes that
are drained. Which rules it follows is a setting of the Autoscaler object. It needs the scheduler's profiles, because
what fits on a node that does not exist yet is for the scheduler's filters to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from bayplan.controllers.autoscaling.consolidation import VALIDATED_AFTER_NS, Command, Consolidator
from bayplan.controllers.autoscaling.machines import Machine, Machines
from bayplan.controllers.autoscaling.picture import Picture, was_refused
from bayplan.controllers.autoscaling.provisioning import provision
from bayplan.controllers.autoscaling.removing import Removals, removal_taint
from bayplan.controllers.autoscaling.scale_down import ScaleDown
from bayplan.controllers.autoscaling.scale_up import scale_up
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.controllers.budgets.evicting import is_daemon, is_mirror
from bayplan.controllers.timers import earliest
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.model.kinds import ALL_KINDS
from bayplan.model.node import Node, Taint
from bayplan.model.node_pools import KARPENTER, Autoscaler, AutoscalerSpec, NodePool
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import TO_BE_DELETED
from bayplan.store import Conflict, NotFound, Store, WatchEvent

CANDIDATE_TAINT = "DeletionCandidateOfClusterAutoscaler"
DISRUPTED_TAINT = "karpenter.sh/disrupted"
_AFTER_FAILURE_NS = 3 * MINUTE
_SOFT_TAINTS_AT_ONCE = 10
# Upstream: karpenter pkg/operator/options: BATCH_IDLE_DURATION, BATCH_MAX_DURATION.
_BATCH_IDLE_NS, _BATCH_MAX_NS = SECOND, 10 * SECOND
_POLL_NS = 10 * SECOND


@dataclass(slots=True)
class _Pending:
    """A consolidation that was decided and is not done."""

    command: Command
    due: int
    machine: Machine | None = None  # that replaces the nodes


class AutoscalerController:
    """Asks for machines and has nodes removed.

    Args:
        profiles: of the scheduler whose decisions it foresees.
        start_ns: how long a machine takes that typically takes so long.
        random: for ties between pools.
    """

    name: ClassVar[str] = "cluster-autoscaler"
    watches: ClassVar[frozenset[str]] = frozenset(ALL_KINDS)

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        start_ns: Callable[[int], int],
        random: Random,
        gates: FeatureGates,
    ) -> None:
        self._settings = Settings.of(AutoscalerSpec())
        self._random = random
        self.picture = Picture(profiles, gates)
        """What it knows of the cluster; to be read only."""
        self._machines = Machines(start_ns)
        self._removals = Removals(self._machines)
        self._down = ScaleDown(self.picture, self._machines, self._removals)
        self._consolidation = Consolidator(self.picture, self._machines, self._removals)
        self._specs: dict[str, NodePool] = {}
        self._scan_at = 0
        self._later_at: int | None = None  # when a scan is worth while though nothing happens
        self._has_begun = False
        self._grown_at: int | None = None
        self._batch: tuple[int, int] | None = None  # when the first and the last waiting pod was heard of
        self._changed_at: dict[str, int] = {}  # when pods last came to a node or left it
        self._pending: _Pending | None = None

    # ------------------------------------------------------------------ what happens

    def observe(self, change: WatchEvent, now: int) -> None:
        obj = change.new
        if isinstance(obj, NodePool | Autoscaler):
            self._configure(obj, now, is_gone=change.type == DELETED)
            return
        self.picture.note(change)
        if self._scan_at < now and self._has_begun:
            self._scan_at = self._aligned(now)
        if change.kind in ("Node", "ResourceSlice"):
            self._machines.observe(change)
        elif isinstance(obj, Pod):
            self._pod_changed(obj, change, now)

    def _configure(self, obj: NodePool | Autoscaler, now: int, *, is_gone: bool) -> None:
        if isinstance(obj, Autoscaler):
            self._settings = Settings.of(AutoscalerSpec() if is_gone else obj.spec)
        elif is_gone:
            self._specs.pop(obj.metadata.name, None)
        else:
            self._specs[obj.metadata.name] = obj
        self._machines.pools = {name: ScaledPool.of(each, self._settings) for name, each in sorted(self._specs.items())}
        if self._has_begun:
            self._later_at = now
        else:
            self._scan_at = now

    def _pod_changed(self, pod: Pod, change: WatchEvent, now: int) -> None:
        old = change.old
        was_on = old.spec.node_name if isinstance(old, Pod) else ""
        if pod.spec.node_name and (change.type == DELETED or not was_on):
            self._changed_at[pod.spec.node_name] = now
        if was_refused(pod) and not (isinstance(old, Pod) and was_refused(old)) and change.type != DELETED:
            self._batch = (self._batch[0] if self._batch else now, now)

    def wake_at(self) -> int | None:
        begun = earliest(self._machines.wake_at(), self._removals.wake_at())
        if not self._machines.pools:
            return begun
        batch = self._batch_due() if self._is_karpenter else None
        pending = self._pending.due if self._pending is not None else None
        return earliest(self._next_scan(), begun, batch, pending)

    def _next_scan(self) -> int | None:
        """The next one that may find anything new: nothing but news and certain times change what one finds."""
        if self.picture.has_news or not self._has_begun:
            return self._scan_at
        later = self._later_at
        return None if later is None else self._aligned(later)

    def _aligned(self, at: int) -> int:
        """The first scan that is not before then."""
        step = _POLL_NS if self._is_karpenter else self._settings.scan_ns
        return self._scan_at + max(-(-(at - self._scan_at) // step), 0) * step

    @property
    def _is_karpenter(self) -> bool:
        return self._settings.mode == KARPENTER

    def _batch_due(self) -> int | None:
        if self._batch is None:
            return None
        first, last = self._batch
        return min(last + _BATCH_IDLE_NS, first + _BATCH_MAX_NS)

    # ------------------------------------------------------------------ what is done

    def reconcile(self, store: Store, now: int) -> None:
        self._machines.start_due(store, now)
        self._removals.go_on(store, now)
        if not self._machines.pools:
            return
        next_scan = self._next_scan()
        is_scan = next_scan is not None and next_scan <= now
        if is_scan:
            self._scan_at = self._aligned(now + 1)
            self._fill_up(now)
        if self._is_karpenter:
            self._follow_karpenter(store, now, is_poll=is_scan)
        elif is_scan:
            self._follow_cluster_autoscaler(store, now)

    def _fill_up(self, now: int) -> None:
        """Pools have at least so many nodes; those that they begin with are there at once."""
        for pool in self._machines.pools.values():
            missing = pool.min - (self._machines.size(pool.name) - self._removals.leaving(pool.name))
            if missing > 0:
                self._machines.ask_for(pool, missing, now, at_once=not self._has_begun)
        self._has_begun = True

    def _follow_cluster_autoscaler(self, store: Store, now: int) -> None:
        picture, settings = self.picture, self._settings
        picture.take_in()
        self._changed_at.clear()  # which only Karpenter's rules ask for
        self._later_at = None
        with picture.trial():
            self._add_starting_nodes()
            if scale_up(picture, self._machines, settings, self._random, now):
                self._grown_at = self._later_at = now
                return
            if not settings.may_remove:
                return
            self._down.look(settings, now)
        cool_at = self._cool_at()
        if cool_at <= now:
            for each in self._down.due(now):
                taint = removal_taint(TO_BE_DELETED, str(now // SECOND))
                self._removals.begin(store, each.name, taint, now, is_empty=each.is_empty, may_fail=True)
        self._mark_candidates(store, now)
        next_at = self._down.next_at()
        self._later_at = None if next_at is None else max(next_at, cool_at, now + 1)

    def _add_starting_nodes(self) -> None:
        for node, slices in self._machines.starting_nodes():
            self.picture.add_node(node, slices=slices)

    def _cool_at(self) -> int:
        """Until then no node is removed."""
        grown = 0 if self._grown_at is None else self._grown_at + self._settings.delay_after_add_ns
        failed_at = self._removals.failed_at
        return max(grown, 0 if failed_at is None else failed_at + _AFTER_FAILURE_NS)

    def _mark_candidates(self, store: Store, now: int) -> None:
        """Nodes that nobody needs are to be the scheduler's last choice, and others are not."""
        left = _SOFT_TAINTS_AT_ONCE
        for name in [*self._machines.pool_names]:
            node = store.find(Node, "", name)
            if node is None or name in self._removals or not left:
                continue
            is_marked = any(taint.key == CANDIDATE_TAINT for taint in node.spec.taints)
            if is_marked != (name in self._down.unneeded_since):
                left -= 1
                mark = Taint(key=CANDIDATE_TAINT, value=str(now // SECOND), effect="PreferNoSchedule")
                _set_taint(store, name, CANDIDATE_TAINT, None if is_marked else mark, now)

    def _follow_karpenter(self, store: Store, now: int, *, is_poll: bool) -> None:
        picture, settings, pending = self.picture, self._settings, self._pending
        batch_due = self._batch_due()
        is_batch = batch_due is not None and batch_due <= now
        if not (is_poll or is_batch or (pending is not None and pending.due <= now)):
            return
        picture.take_in()
        self._changed_at = {name: at for name, at in self._changed_at.items() if name in self._machines.pool_names}
        with picture.trial():
            self._add_starting_nodes()
            leaving = self._leaving_pods()
            if is_batch:
                self._batch = None
            if provision(picture, self._machines, settings, leaving, now) or not settings.may_remove:
                return
            self._consolidate(store, now, is_poll=is_poll)
        self._later_at = self._consolidation.next_at(self._changed_at, now)

    def _leaving_pods(self) -> list[Pod]:
        """Of nodes on their way out, which are gone from the picture then."""
        picture = self.picture
        pods = [pod for name in self._removals.names() if name in picture.nodes for pod in picture.remove_node(name)]
        return [picture.unbound(pod) for pod in pods if not is_daemon(pod) and not is_mirror(pod)]

    def _consolidate(self, store: Store, now: int, *, is_poll: bool) -> None:
        pending, settings = self._pending, self._settings
        if pending is None:
            command = self._consolidation.find(settings, self._changed_at, now) if is_poll else None
            if command is not None:
                self._pending = _Pending(command, now + VALIDATED_AFTER_NS)
        elif pending.due > now:
            return
        elif pending.machine is not None:
            if pending.machine.name in self._machines.starting:
                pending.due = now + SECOND
                return
            self._pending = None
            self._remove(store, pending.command.names, now)
        elif not self._consolidation.holds(pending.command, settings, self._changed_at, now):
            self._pending = None
        elif pending.command.replacement is None:
            self._pending = None
            self._remove(store, pending.command.names, now)
        else:
            for name in pending.command.names:
                _set_taint(store, name, DISRUPTED_TAINT, removal_taint(DISRUPTED_TAINT), now)
            (pending.machine,) = self._machines.ask_for(pending.command.replacement, 1, now)
            pending.due = now + SECOND

    def _remove(self, store: Store, names: tuple[str, ...], now: int) -> None:
        for name in names:
            if name in self._machines.pool_names and name not in self._removals:
                taint = removal_taint(DISRUPTED_TAINT)
                self._removals.begin(store, name, taint, now, is_empty=False, may_fail=False)


def _set_taint(store: Store, name: str, key: str, taint: Taint | None, now: int) -> None:
    def change(node: Node) -> Node:
        others = [each for each in node.spec.taints if each.key != key]
        return replace(node, spec=replace(node.spec, taints=others if taint is None else [*others, taint]))

    with suppress(NotFound, Conflict):
        store.modify(Node, "", name, change, now)
