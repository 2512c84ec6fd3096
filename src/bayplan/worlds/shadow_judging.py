"""Whether a binding that somebody made is one that we would make in the same situation, and if not why.

Keeps a second cache of what the API shows and of nothing else. A scheduler that runs ahead fills its own cache with
pods it has placed in its mind; to judge another's decision by that would blame it for our guesses. Takes the
events of the watch; judges a pod before the event is observed that shows its node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, NeedsPreemption
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.scoring import Scored
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.worlds.shadow_preemptions import ShadowVictim

#: Equally cheap nodes to preempt on that are remembered with their victims.
_TIED_MAX: Final = 100


class Judgement(NamedTuple):
    """What we would have done."""

    agrees: bool  # their node is as good as any
    ours: str  # the node, "" if there is none
    why: str = ""  # not theirs
    our_total: int | None = None
    their_total: int | None = None
    scores: Mapping[str, tuple[int, int]] = {}  # by plugin, of our node and of theirs


class JudgedPreemption(NamedTuple):
    """The node to preempt on, and who would have to go from it and from each that is equally cheap."""

    node: str
    by_node: Mapping[str, tuple[ShadowVictim, ...]]

    @property
    def victims(self) -> tuple[ShadowVictim, ...]:
        return self.by_node[self.node]


def preemption_of(choice: NeedsPreemption, view: View) -> JudgedPreemption:
    rows = [choice.row, *choice.tied_rows[:_TIED_MAX].tolist()]
    names = view.nodes.names
    by_node = {names[row]: tuple(_victim(view, pod_row) for pod_row in choice.victims_on(row)) for row in rows}
    return JudgedPreemption(names[choice.row], by_node)


def preemption_for_group(node: str, preemption: GroupPreemption, view: View) -> JudgedPreemption:
    """A member's part in what its group needs, which may be nothing: another member may as well get its node."""
    pods, names = view.pods, view.nodes.names
    by_node: dict[str, tuple[ShadowVictim, ...]] = dict.fromkeys(preemption.proposed.values(), ())
    for key in preemption.victims:
        row = pods.rows_by_key[key]
        stands_on = names[int(pods.node_rows[row])]
        if stands_on in by_node:
            by_node[stands_on] += (_victim(view, row),)
    return JudgedPreemption(node, by_node)


def _victim(view: View, pod_row: int) -> ShadowVictim:
    pods = view.pods
    return ShadowVictim(pods.keys[pod_row], (int(pods.priorities[pod_row]), int(pods.started_at[pod_row])))


class Judge:
    """The cluster as the API shows it, and what we think of it."""

    def __init__(self, profiles: Mapping[str, Profile], gates: FeatureGates) -> None:
        self._profiles = profiles
        self._cache = Cache(gates)
        self._decider = Decider(profiles)

    # ------------------------------------------------------------------ what the API shows

    def observe(self, event: Event) -> None:
        match event:
            case ObjectAdded(new):
                self._show(None, new)
            case ObjectChanged(old, new):
                self._show(old, new)
            case ObjectRemoved(old):
                self._show_gone(old)

    def _show(self, old: Object | None, new: Object) -> None:
        if not isinstance(new, Pod):
            self._cache.add(new)
            return
        key = object_key(new)
        is_placed = bool(new.spec.node_name) and new.status.phase not in FINISHED_PHASES
        if is_placed and self._cache.stands_on_a_node(key):
            self._cache.update_pod(new, old if isinstance(old, Pod) else None)
            return
        self._forget(key)
        if new.spec.node_name or new.spec.scheduler_name in self._profiles:
            self._cache.add(new)

    def _show_gone(self, old: Object) -> None:
        if isinstance(old, Pod):
            self._forget(object_key(old))
        elif isinstance(old, Node):
            self._cache.remove_node(old.metadata.name)
        else:
            self._cache.objects.remove(old)

    def _forget(self, key: str) -> None:
        if key in self._cache.pods.rows_by_key:
            self._cache.remove_pod(key)

    def victim(self, key: str) -> ShadowVictim:
        """A pod that stands on a node, as it was last observed."""
        row = self._cache.pods.rows_by_key.get(key)
        return ShadowVictim(key) if row is None else _victim(self._cache.view(), row)

    # ------------------------------------------------------------------ what we think of it

    def judge(self, pod: Pod, theirs: str, now: int) -> Judgement:
        """The pod as it was before it had its node, and the node it got."""
        self._cache.objects.now = now
        info, view = self._cache.info(pod), self._cache.view()
        row = view.nodes.rows_by_name.get(theirs)
        if row is None or not view.nodes.alive[row]:
            return Judgement(False, "", f"node {theirs} is not known")
        try:
            choice = self._decider.decide(info, view)
        except CycleError as error:
            return Judgement(False, "", error.message)
        ours = choice.row if isinstance(choice, Fits) else None
        if isinstance(choice, Fits) and row in choice.tied_rows:
            return Judgement(True, view.nodes.names[choice.row])
        return _explained(self._profiles[info.scheduler_name], info, view, ours, row)

    def agrees_later(self, waiting: Pod, bound: Pod, now: int) -> bool:
        """Whether we would place the pod where it is, had it come now."""
        key = object_key(bound)
        if not self._cache.stands_on_a_node(key):
            return False
        self._cache.remove_pod(key)
        agrees = self.judge(waiting, bound.spec.node_name, now).agrees
        self._cache.add_pod(bound)
        return agrees

    def fits(self, pod: Pod, now: int) -> bool:
        """Whether we would place the pod now."""
        return isinstance(self._decided(pod, now), Fits)

    def preemption(self, pod: Pod, now: int) -> JudgedPreemption | None:
        """What we would do if the pod had to preempt now, without a nomination; None: it need not, or cannot."""
        choice = self._decided(pod, now)
        return preemption_of(choice, self._cache.view()) if isinstance(choice, NeedsPreemption) else None

    def _decided(self, pod: Pod, now: int) -> Choice | None:
        """As if the pod were not nominated; None after an error."""
        self._cache.objects.now = now
        info, view = self._cache.info(pod), self._cache.view()
        info.nominated_node_name = ""
        try:
            return self._decider.decide(info, view)
        except CycleError:
            return None


def _explained(profile: Profile, info: PodInfo, view: View, ours: int | None, theirs: int) -> Judgement:
    """Why their node is not ours; `ours` is None where nothing fits."""
    found, name = attempt(profile, info, view), view.nodes.names[ours] if ours is not None else ""
    if found.filtered is not None and theirs not in found.filtered.feasible_rows:
        status = found.filtered.status_of(view, theirs)
        return Judgement(
            False, name, f"{status.plugin} rejects {view.nodes.names[theirs]}: {', '.join(status.reasons)}"
        )
    if found.scored is None or found.scored.totals is None or ours is None or ours not in found.scored.rows:
        return Judgement(False, name, found.message or "the search ended before it")
    return _by_score(found.scored, view, ours, theirs)


def _by_score(scored: Scored, view: View, ours: int, theirs: int) -> Judgement:
    rows = scored.rows.tolist()
    mine, other = rows.index(ours), rows.index(theirs)
    scores = {plugin: (int(column[mine]), int(column[other])) for plugin, column in scored.by_plugin.items()}
    assert scored.totals is not None
    totals = int(scored.totals[mine]), int(scored.totals[other])
    apart = sorted(((pair[0] - pair[1], plugin) for plugin, pair in scores.items() if pair[0] != pair[1]), reverse=True)
    by = ", ".join(f"{plugin} {scores[plugin][0]} to {scores[plugin][1]}" for _, plugin in apart)
    names = view.nodes.names
    why = f"{names[ours]} scores {totals[0]}, {names[theirs]} {totals[1]}: {by}"
    return Judgement(False, names[ours], why, *totals, scores)
