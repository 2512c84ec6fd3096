"""A group in each of several placements, and which of them is best.

A placement is a set of nodes, one for each value of the label that the group's topology constraint names; without a
constraint all nodes are one placement. Placements are tried by name, and the smallest name wins where totals are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bayplan.core.columns import ABSENT, RowArray, row_array, row_mask
from bayplan.core.columns.resources import BASIC_NAMES, CPU_NAME, MEMORY_NAME
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.group_plugins import POD_GROUP_PODS_COUNT
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.core.groups.counting import room_for
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import GroupStage, Placed
from bayplan.core.groups.status import GroupStatus, error_status, unschedulable_group
from bayplan.core.snapshot import View
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key

#: Resources that a pod which does not mention them is assumed to take some of, with their columns in `Usage`.
_NONZERO_COLUMNS = {CPU_NAME: 0, MEMORY_NAME: 1}


@dataclass(slots=True)
class TriedPlacement:
    """A set of nodes, and what came of placing the group there."""

    name: str
    rows: RowArray  # in the order of nodes
    placed: Placed  # of one whose members were only counted, the status alone
    fitting: Sequence[Member] = ()  # the members that find a node; those that were only counted are all alike
    scores: dict[str, int] = field(default_factory=dict)  # weighted; only where several were feasible
    total: int | None = None


@dataclass(slots=True)
class FoundPlacement:
    """What the algorithm found for a group."""

    placed: Placed
    placements: list[TriedPlacement] | None = None  # None where the nodes are not divided
    chosen: str | None = None


def find_placement(stage: GroupStage) -> FoundPlacement:
    """Try the group, in each of its placements where nodes are divided. A group of which nothing fits is not placed."""
    divides = stage.cache.gates.topology_aware_workload_scheduling
    found = _best_placement(stage) if divides else FoundPlacement(stage.place())
    if found.placed.status.ok and not found.placed.assigned:
        found.placed = Placed(unschedulable_group(), found.placed.tried)
    return found


def topology_key(group: PodGroup) -> str | None:
    """The label whose values are the domains that the group must stay within one of; None: it may be anywhere."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else None


def _best_placement(stage: GroupStage) -> FoundPlacement:
    view = stage.cache.view()
    found = FoundPlacement(Placed(unschedulable_group("no feasible placements found")), [])
    try:
        placements = _generate(stage, view)
    except CycleError as error:
        found.placed.status = error_status(error.message)
        return found
    if not placements:
        found.placed.status = GroupStatus(Code.UNSCHEDULABLE, "", ("no feasible placements found",))
        return found
    counted = None if stage.in_full or len(placements) == 1 else _counted(stage, view, placements)
    found.placements = counted or []
    if counted is None:
        for name, rows in placements:
            tried = _placed_in(stage, view, name, rows)
            found.placements.append(tried)
            if tried.placed.status.failed:
                found.placed = tried.placed
                return found
    feasible = [each for each in found.placements if each.placed.status.ok]
    if not feasible:
        if counted is not None:
            found.placements[0] = _placed_in(stage, view, *placements[0])
        found.placed = _none_feasible(found.placements)
        return found
    found = _take_best(stage, found, feasible)
    if counted is not None and found.chosen is not None:
        rows = dict(placements)[found.chosen]
        found.placed = _placed_in(stage, view, found.chosen, rows).placed
    return found


def _placed_in(stage: GroupStage, view: View, name: str, rows: RowArray) -> TriedPlacement:
    among = None if len(rows) == view.nodes.alive_count else row_mask(rows, view.nodes.count)
    placed = stage.place(among)
    return TriedPlacement(name, rows, placed, [each.member for each in placed.assigned])


def _counted(stage: GroupStage, view: View, placements: Sequence[tuple[str, RowArray]]) -> list[TriedPlacement] | None:
    """What would come of each placement, as far as that follows from how many members fit; None if it does not."""
    scheduled, members = stage.scheduled_count, stage.members
    if stage.feasibility(scheduled, len(members)).code is Code.UNSCHEDULABLE:
        return None
    room = room_for(stage.profile, members, view)
    if room is None:
        return None
    counted = []
    for name, rows in placements:
        fitting = members[: min(len(members), int(room[rows].sum()))]
        status = stage.feasibility(scheduled + len(fitting), 0)
        counted.append(TriedPlacement(name, rows, Placed(status), fitting))
    return counted


def _none_feasible(placements: Sequence[TriedPlacement]) -> Placed:
    """The first one stands for all."""
    first = placements[0].placed
    reason = f"0/{len(placements)} placements are available, first placement status: {first.status.cause}"
    return Placed(unschedulable_group(reason), first.tried)


def _take_best(stage: GroupStage, found: FoundPlacement, feasible: Sequence[TriedPlacement]) -> FoundPlacement:
    if len(feasible) > 1:
        try:
            _score(stage, feasible)
        except CycleError as error:
            found.placed = Placed(error_status(error.message))
            return found
    best = min(feasible, key=lambda each: (-(each.total or 0), each.name))
    found.placed, found.chosen = best.placed, best.name
    return found


def _generate(stage: GroupStage, view: View) -> list[tuple[str, RowArray]]:
    """Names and rows of the placements, by name. Raises CycleError."""
    in_order = row_array([view.nodes.rows_by_name[name] for name in view.nodes.order.names()])
    key = topology_key(stage.group)
    plugins = stage.profile.groups.generate
    if key is None or not plugins:
        return [("", in_order)]
    required = _domain_of_scheduled(stage, view, key, plugins[0])
    domains: dict[str, list[int]] = {}
    for row in in_order.tolist():
        domain = view.nodes.labels[row].get(key)
        if domain is not None and required in (None, domain):
            domains.setdefault(domain, []).append(row)
    return [(name, row_array(domains[name])) for name in sorted(domains)]


def _domain_of_scheduled(stage: GroupStage, view: View, key: str, plugin: str) -> str | None:
    """The domain that members on nodes bind the group to. Raises CycleError."""
    start, found = "cannot determine domain for already scheduled pods: ", None
    for row in view.pods.scheduled_members(object_key(stage.group)):
        node_row, pod = int(view.pods.node_rows[row]), view.pods.keys[row]
        if not view.nodes.alive[node_row]:
            missing = f'nodeinfo not found for node name "{view.nodes.names[node_row]}"'
            raise CycleError(plugin, f"{start}getting node for pod {pod}: {missing}")
        domain = view.nodes.labels[node_row].get(key)
        if domain is None:
            raise CycleError(plugin, f"{start}no topology domain found for pod {pod}")
        if found and found != domain:
            raise CycleError(plugin, f"{start}more than 1 domain found for pod group: {found}, {domain}")
        found = domain
    return found


def _score(stage: GroupStage, feasible: Sequence[TriedPlacement]) -> None:
    """Fill in weighted scores and totals. Raises CycleError."""
    view, totals = stage.cache.view(), [0] * len(feasible)
    for name, weight in stage.profile.groups.score:
        ask = _pod_counts if name == POD_GROUP_PODS_COUNT else _utilizations
        for position, score in enumerate(ask(stage, view, feasible)):
            feasible[position].scores[name] = score * weight
            totals[position] += score * weight
    for each, total in zip(feasible, totals, strict=True):
        each.total = total


def _pod_counts(stage: GroupStage, _view: View, feasible: Sequence[TriedPlacement]) -> list[int]:
    """PodGroupPodsCount: the more members, the better."""
    scheduled = stage.scheduled_count
    counts = [scheduled + len(each.fitting) for each in feasible]
    if not max(counts):
        none = "no pods from pod group are assigned to any of the candidate placements"
        start = "running NormalizePlacementScore on PlacementScore plugins: "
        raise CycleError(POD_GROUP_PODS_COUNT, f'{start}plugin "{POD_GROUP_PODS_COUNT}" failed with: {none}')
    return [count * MAX_NODE_SCORE // max(counts) for count in counts]


def _utilizations(stage: GroupStage, view: View, feasible: Sequence[TriedPlacement]) -> list[int]:
    """NodeResourcesFit: the fuller the nodes of the placement together, the better, whatever the profile prefers."""
    return [_utilization(stage, view, each) for each in feasible]


def _utilization(stage: GroupStage, view: View, placement: TriedPlacement) -> int:
    score = weights = 0
    rows = placement.rows
    for resource, weight in stage.profile.groups.score_resources:
        proposed = sum(member.info.shape.requests.scored.get(resource, 0) for member in placement.fitting)
        column = view.nodes.resources.find(resource)
        # As for single pods: a scalar resource that nobody asks for says nothing.
        if column == ABSENT or (resource not in BASIC_NAMES and not proposed):
            continue
        allocatable = view.nodes.allocatable[rows, column]
        capacity = int(allocatable.sum())
        if capacity:  # what pods take on nodes that have none of it does not count
            requested = proposed + _used(view, rows[allocatable > 0], resource, column)
            score += min(requested, capacity) * MAX_NODE_SCORE // capacity * weight
            weights += weight
    return score // weights if weights else 0


def _used(view: View, rows: RowArray, resource: str, column: int) -> int:
    """What pods take there of a resource; of cpu and memory, what they are assumed to take if they do not say."""
    usage = view.usage
    if resource in _NONZERO_COLUMNS:
        return int(usage.nonzero_requested[rows, _NONZERO_COLUMNS[resource]].sum())
    return int(usage.requested[rows, column].sum())
