"""Which units have to go so that a group fits.

All units of lower priority are taken out of the cluster, and the group is placed once. Then unit by unit is put back,
those whose budgets are used up first, the most important first, as long as all members still fit on the nodes that they
were given. Those that cannot stay are the victims. Everything happens in a trial on the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bayplan.core.actions import Action
from bayplan.core.cache import Cache
from bayplan.core.columns import row_array
from bayplan.core.columns.nominated import known_by_name
from bayplan.core.filtering import filter_states, filter_with_nominated, run_pre_filters, with_moves
from bayplan.core.framework.contract import SKIP, Reads
from bayplan.core.framework.verdict import Code, CycleError, Status, unresolvable, unschedulable
from bayplan.core.groups.member import Member, Tried
from bayplan.core.groups.placements import FoundPlacement, find_placement
from bayplan.core.groups.placing import GroupStage, assume
from bayplan.core.preemption.eligible import POLICY_NEVER
from bayplan.core.preemption.units import Unit, may_go, order_of_reprieve, unit_priority, units_on
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod
from bayplan.model.structs import replace as replace_fields

NO_VICTIMS = "No preemption victims found for incoming preemptor"
ONGOING = "ongoing preemption on nominated nodes"


@dataclass(frozen=True, slots=True)
class TriedUnit:
    """A unit that may be evicted for the group, and whether it can stay after all."""

    unit: Unit
    violations: int  # of its pods, how many would break a budget
    may_stay: bool


@dataclass(slots=True)
class GroupPreemption:
    """What preemption for a group came to."""

    status: Status
    ran: bool = False  # victims were computed
    trial: FoundPlacement | None = None  # what came of placing the group with all possible victims gone
    victims: list[str] = field(default_factory=list)  # in order of importance, terminating ones among them
    evicted: list[str] = field(default_factory=list)  # those to be deleted now, sorted
    violations: int = 0  # victims whose eviction breaks a budget
    broken: dict[str, list[str]] = field(default_factory=dict)  # pod that may have to go -> budgets that this breaks
    proposed: dict[str, str] = field(default_factory=dict)  # member -> node
    actions: tuple[Action, ...] = ()  # of PodGroupPostFilter plugins, to perform whatever becomes of the group
    units: list[TriedUnit] = field(default_factory=list)  # all of lower priority, in the order of reprieve


def preempt(stage: GroupStage) -> GroupPreemption:
    """Find out who has to go. Nothing is evicted. Raises CycleError."""
    view = stage.cache.view()
    alive_rows = [view.nodes.rows_by_name[name] for name in view.nodes.order.names()]
    try:
        units = units_on(view, alive_rows, leaves_out_strays=stage.leaves_out_strays)
    except CycleError as error:
        raise error.at("failed to create domain") from error
    if _never_preempts(stage):
        return GroupPreemption(unschedulable(POLICY_NEVER))
    if _is_ongoing(stage, view):
        return GroupPreemption(Status(Code.SUCCESS, (ONGOING,)))
    stage.observer.victims_sought()
    try:
        found = _find_victims(stage, view, units)
    except CycleError:
        stage.observer.victims_found(Code.ERROR)
        raise
    stage.observer.victims_found(found.status.code)
    return found


def _find_victims(stage: GroupStage, view: View, units: Sequence[Unit]) -> GroupPreemption:
    cache, priority = stage.cache, stage.group.spec.priority or 0
    potential = sorted(
        (unit for unit in units if unit.priority < priority and may_go(view, unit)), key=lambda unit: unit.order
    )
    if not potential:
        return GroupPreemption(unresolvable(NO_VICTIMS))
    spared, broken = order_of_reprieve(view, potential)
    with cache.trial():
        nodes = {row: int(view.pods.node_rows[row]) for unit in potential for row in unit.pod_rows}
        for row in nodes:
            cache.remove_row(row)
        # It is to be known which plugins skip.
        stage = replace(stage, decider=None, profile=stage.profile.in_group_trials)
        trial = find_placement(stage)
        found = GroupPreemption(Status(trial.placed.status.code, (trial.placed.status.message,)), trial=trial)
        if not trial.placed.status.ok:
            return found
        search = _Reprieve(stage, trial.placed.assigned, nodes)
        found.units = [TriedUnit(unit, broken.violations(unit), search.may_stay(unit)) for unit in spared]
    found.ran = True
    victims = [each.unit for each in found.units if not each.may_stay]
    found.violations = sum(broken.violations(unit) for unit in victims)
    found.broken = {view.pods.keys[row]: budgets for row, budgets in broken.by_row.items()}
    in_order = sorted(victims, key=lambda unit: unit.order)
    name_victims(found, view, [row for unit in in_order for row in unit.pod_rows])
    found.proposed = {each.member.key: each.node for each in trial.placed.assigned}
    text = f"found a placement for podgroup, preempting {len(found.victims)} victims"
    found.status = Status(Code.SUCCESS, (text,))
    return found


def name_victims(found: GroupPreemption, view: View, rows: Sequence[int]) -> None:
    """Those that have to go, and those of them that are to be deleted now."""
    found.victims = [view.pods.keys[row] for row in rows]
    found.evicted = sorted(view.pods.keys[row] for row in rows if not view.pods.terminating[row])


def _never_preempts(stage: GroupStage) -> bool:
    if stage.cache.gates.pod_group_preemption_policy:
        return stage.group.spec.preemption_policy == "Never"
    return any(member.info.preemption_policy == "Never" for member in stage.members)


def _is_ongoing(stage: GroupStage, view: View) -> bool:
    """Whether pods of lower priority are leaving a node that a member is nominated to, as a scheduler evicted them."""
    priority = stage.group.spec.priority or 0
    for name in {member.info.nominated_node_name for member in stage.members}:
        row = view.nodes.rows_by_name.get(name) if name else None
        if row is not None and view.nodes.alive[row]:
            leaving = [pod for pod in view.nodes.pod_rows[row] if view.pods.preempted[pod]]
            if any(unit_priority(view, pod) < priority for pod in leaving):
                return True
    return False


class _Reprieve:
    """Puts units back while all members still fit where they are to go."""

    def __init__(self, stage: GroupStage, assigned: Sequence[Tried], nodes: dict[int, int]) -> None:
        self._stage = stage
        self._assigned = assigned
        self._nodes = nodes  # pod row -> the node it was taken from
        self._back: dict[int, int] = {}  # the same, of those that are there again
        #: Node -> the members that go there, in their order; None if other nodes matter to them as well.
        self._by_node: dict[int, list[Tried]] | None = None
        if _mind_their_own_nodes(stage, assigned):
            self._by_node = {}
            for tried in assigned:
                self._by_node.setdefault(tried.row, []).append(tried)

    def may_stay(self, unit: Unit) -> bool:
        """Whether the unit can be put back; if so it is."""
        cache = self._stage.cache
        for row in unit.pod_rows:
            self._back[row] = self._nodes[row]
            cache.bring_back(row, self._nodes[row])
        if self._all_fit(cache, self._concerned(unit)):
            return True
        for row in unit.pod_rows:
            del self._back[row]
            cache.remove_row(row)
        return False

    def _concerned(self, unit: Unit) -> Sequence[Tried]:
        """The members that may not fit any longer once the unit is back."""
        if self._by_node is None:
            return self._assigned
        nodes = dict.fromkeys(self._nodes[row] for row in unit.pod_rows)
        return [tried for node in nodes for tried in self._by_node.get(node, ())]

    def _all_fit(self, cache: Cache, members: Sequence[Tried]) -> bool:
        if not members:
            return True
        with cache.trial():
            for tried in members:
                if not self._fits(cache.view(), tried):
                    return False
                kept = _nomination_of(cache, tried.member)
                assume(cache, self._stage.profile, tried.member, tried.row)
                if kept:
                    cache.nominate(_beside(tried.member.pod), kept)
        return True

    def _fits(self, view: View, tried: Tried) -> bool:
        """As upstream, a plugin that had nothing to do for the member before has nothing to do now."""
        profile, pod = self._stage.profile, tried.member.info
        pre = run_pre_filters(profile, pod, view)
        if not pre.status.ok:
            return False
        states = filter_states(profile, pod, view, pre.states | dict.fromkeys(tried.skipped, SKIP))
        states = with_moves(profile.filter, states, view, self._back, +1)
        verdicts = filter_with_nominated(profile.filter, states, pod, view, row_array([tried.row]))
        return bool(verdicts.passed[0])


def _nomination_of(cache: Cache, member: Member) -> str:
    """The node that is kept for the member, or ""."""
    row = cache.pods.rows_by_key.get(member.key)
    place = cache.nominated.place_of(row) if row is not None else None
    return "" if place is None else place[0]


def _beside(pod: Pod) -> Pod:
    """What upstream still keeps of a member that it counts on its node already: it ends no nominations here."""
    named = known_by_name(pod)
    return replace_fields(named, metadata=replace_fields(named.metadata, name=f"{named.metadata.name} (nominated)"))


def _mind_their_own_nodes(stage: GroupStage, assigned: Sequence[Tried]) -> bool:
    """Whether pods elsewhere never keep a member off the node that it was given."""
    profile, cache = stage.profile, stage.cache
    if any(member.key in cache.pods.rows_by_key for member in stage.members):
        return False  # their nominations end one after another
    near_sighted = {plugin.name for plugin in profile.filter if not plugin.reads & Reads.CLUSTER}
    asked = {plugin.name for plugin in profile.filter} | {plugin.name for plugin in profile.pre_filter}
    far_seeing = (asked | {plugin.name for plugin in profile.reserve}) - near_sighted
    return all(far_seeing <= tried.skipped for tried in assigned)
