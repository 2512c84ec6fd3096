"""A group in each of several placements, and which of them is best.

A placement is a set of nodes. A PlacementGenerate plugin says which there are: by default one for each value of the
label that the group's topology constraint names. Placements are tried by name, and the smallest name wins where the
totals of the PlacementScore plugins are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bayplan.core.columns import RowArray, row_array, row_mask
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.group_contract import (
    GroupPlacement,
    NormalizePlacementsPlugin,
    PlacementScorePlugin,
    PodGroupAssignments,
)
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.groups.counting import room_for
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import GroupStage, Placed
from bayplan.core.groups.status import GroupStatus, error_status, unschedulable_group
from bayplan.core.snapshot import View


@dataclass(slots=True)
class TriedPlacement:
    """A placement, and what came of placing the group there."""

    placement: GroupPlacement
    placed: Placed  # of one whose members were only counted, the status alone
    fitting: Sequence[Member] = ()  # the members that find a node; those that were only counted are all alike
    scores: dict[str, int] = field(default_factory=dict)  # weighted; only where several were feasible
    total: int | None = None

    @property
    def name(self) -> str:
        return self.placement.name

    @property
    def rows(self) -> RowArray:
        return self.placement.rows

    def assignments(self, *, knows_nodes: bool) -> PodGroupAssignments:
        rows = row_array([each.row for each in self.placed.assigned]) if knows_nodes else None
        return PodGroupAssignments(self.placement, [each.info for each in self.fitting], rows)


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


def _best_placement(stage: GroupStage) -> FoundPlacement:
    view = stage.cache.view()
    try:
        placements = _generate(stage, view)
    except CycleError as error:
        return FoundPlacement(Placed(error_status(error.message)), [])
    if isinstance(placements, Status):
        is_error = placements.code is Code.ERROR
        status = GroupStatus(
            placements.code, placements.message if is_error else "", () if is_error else placements.reasons
        )
        return FoundPlacement(Placed(status), [])
    profile = stage.profile.scheduler_name
    stage.observer.placements_generated(profile, len(placements))
    counted = None if stage.in_full or len(placements) == 1 else _counted(stage, view, placements)
    if counted is not None:
        stage.observer.placements_tried(profile, [each.placed.status.ok for each in counted])
    found = FoundPlacement(Placed(unschedulable_group()), counted or [])
    if counted is None:
        for placement in placements:
            tried = _placed_in(stage, view, placement)
            tried_so_far = found.placements
            assert tried_so_far is not None
            tried_so_far.append(tried)
            if tried.placed.status.failed:
                found.placed = tried.placed
                return found
            stage.observer.placements_tried(profile, [tried.placed.status.ok])
    return _best_of(stage, view, found, is_counted=counted is not None)


def _best_of(stage: GroupStage, view: View, found: FoundPlacement, *, is_counted: bool) -> FoundPlacement:
    """The feasible placement with the best scores, if there is one."""
    placements = found.placements
    assert placements, "a group is tried somewhere"
    feasible = [each for each in placements if each.placed.status.ok]
    if not feasible:
        if is_counted:
            placements[0] = _placed_in(stage, view, placements[0].placement)
        found.placed = _none_feasible(placements)
        return found
    if len(feasible) > 1:
        try:
            _score(stage, feasible)
        except CycleError as error:
            found.placed = Placed(error_status(error.message))
            return found
    best = min(feasible, key=lambda each: (-(each.total or 0), each.name))
    found.chosen = best.name
    found.placed = _placed_in(stage, view, best.placement).placed if is_counted else best.placed
    return found


def _placed_in(stage: GroupStage, view: View, placement: GroupPlacement) -> TriedPlacement:
    rows = placement.rows
    among = None if len(rows) == view.nodes.alive_count else row_mask(rows, view.nodes.count)
    placed = stage.place(among)
    return TriedPlacement(placement, placed, [each.member for each in placed.assigned])


def _counted(stage: GroupStage, view: View, placements: Sequence[GroupPlacement]) -> list[TriedPlacement] | None:
    """What would come of each placement, as far as that follows from how many members fit; None if it does not."""
    if not stage.profile.groups.sees_counts_only:
        return None
    scheduled, members = stage.scheduled_count, stage.members
    if stage.feasibility(scheduled, len(members)).code is Code.UNSCHEDULABLE:
        return None
    room = room_for(stage.profile, members, view)
    if room is None:
        return None
    counted = []
    for placement in placements:
        fitting = members[: min(len(members), int(room[placement.rows].sum()))]
        status = stage.feasibility(scheduled + len(fitting), 0)
        counted.append(TriedPlacement(placement, Placed(status), fitting))
    return counted


def _none_feasible(placements: Sequence[TriedPlacement]) -> Placed:
    """The first one stands for all."""
    first = placements[0].placed
    reason = f"0/{len(placements)} placements are available, first placement status: {first.status.cause}"
    return Placed(unschedulable_group(reason), first.tried)


def _generate(stage: GroupStage, view: View) -> list[GroupPlacement] | Status:
    """The placements, by name, or why there are none. Raises CycleError."""
    rows = row_array([view.nodes.rows_by_name[name] for name in view.nodes.order.names()])
    plugin = stage.profile.groups.generate
    if plugin is None:
        return [GroupPlacement("", rows)]
    placements = plugin.generate_placements(stage.info, view, rows)
    if isinstance(placements, Status):
        return placements
    if not placements:
        return Status(Code.UNSCHEDULABLE, ("no feasible placements found",), plugin.name)
    return sorted(placements, key=lambda each: each.name)


def _score(stage: GroupStage, feasible: Sequence[TriedPlacement]) -> None:
    """Fill in weighted scores and totals. Raises CycleError."""
    view, plugins = stage.cache.view(), stage.profile.groups
    assignments = [each.assignments(knows_nodes=not plugins.sees_counts_only) for each in feasible]
    totals = [0] * len(feasible)
    for plugin, weight in plugins.score:
        for position, score in enumerate(_scores_of(plugin, stage, view, assignments)):
            feasible[position].scores[plugin.name] = score * weight
            totals[position] += score * weight
    for each, total in zip(feasible, totals, strict=True):
        each.total = total


def _scores_of(
    plugin: PlacementScorePlugin, stage: GroupStage, view: View, assignments: Sequence[PodGroupAssignments]
) -> list[int]:
    """From 0 to 100. Raises CycleError."""
    where = "running PlacementScore plugins: "
    try:
        scores = plugin.score_placements(stage.info, view, assignments)
        if isinstance(plugin, NormalizePlacementsPlugin):
            where = "running NormalizePlacementScore on PlacementScore plugins: "
            scores = plugin.normalize_placements(stage.info, scores)
    except CycleError as error:
        raise CycleError(plugin.name, f'{where}plugin "{plugin.name}" failed with: {error.message}') from error
    plain: list[int] = scores.tolist()
    for score in plain:
        if not 0 <= score <= MAX_NODE_SCORE:
            problem = (
                f"returns an invalid score {score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
            raise CycleError(
                plugin.name,
                f'applying score defaultWeights on PlacementScore plugins: plugin "{plugin.name}" {problem}',
            )
    return plain
