"""Why a group does not fit: which members find a node, what keeps the first of the others off every node, and how close
each topology domain comes.

Takes the stage on which the group was tried, and places its members there once more, whether or not they are enough.
Says what is; what would help is in `bayplan.analysis.answers.gangs.remedies`. The cache is afterwards as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayplan.analysis.causes import Cause, causes_of
from bayplan.analysis.shortage import short_rows
from bayplan.core.columns import ABSENT, BoolArray, RowArray, row_mask
from bayplan.core.columns.shapes import PodShape
from bayplan.core.cycle import Attempt
from bayplan.core.diagnosis import fit_error
from bayplan.core.explain import Explanation, plain_status
from bayplan.core.filtering import NOT_LOOKED_AT, PASSED, Filtered, filter_nodes, filter_pod, run_pre_filters
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, CycleError
from bayplan.core.groups.counting import room_for
from bayplan.core.groups.cycle import forget_specs_of_nominated
from bayplan.core.groups.member import Member, try_member
from bayplan.core.groups.placements import FoundPlacement, TriedPlacement
from bayplan.core.groups.placing import GroupStage, assume
from bayplan.core.snapshot import View
from bayplan.model.groups import topology_key

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResourceLack:
    """A resource of which too little is free where the group is tried."""

    resource: str
    asked: int  # by the members that find no node
    free: int  # on all nodes together, once the others are placed
    most_free: int  # on one of them

    def to_dict(self) -> Plain:
        return {
            "resource": self.resource,
            "asked": self.asked,
            "free": self.free,
            "mostFree": self.most_free,
        }


@dataclass(frozen=True, slots=True)
class UnfitMember:
    """The first member that finds no node, and why: by cause, and node by node."""

    pod: str
    message: str
    causes: tuple[Cause, ...] = ()
    nodes: tuple[tuple[str, Plain], ...] = ()  # what each node was rejected for
    short: frozenset[str] = frozenset()  # resources of which some node has too little
    lacks: tuple[ResourceLack, ...] = ()

    def to_dict(self) -> Plain:
        return {
            "pod": self.pod,
            "message": self.message,
            "causes": [cause.to_dict() for cause in self.causes],
            "nodes": dict(self.nodes),
            "lacks": [lack.to_dict() for lack in self.lacks],
        }


@dataclass(frozen=True, slots=True)
class Domain:
    """A topology domain, and how many members find a node in it."""

    name: str
    nodes: int
    fitting: int

    def to_dict(self) -> Plain:
        return {"name": self.name, "nodes": self.nodes, "fitting": self.fitting}


@dataclass(frozen=True, slots=True)
class Shortfall:
    """How far a group is from fitting. With domains, where it would go is the one that comes closest."""

    fitting: dict[str, str]  # member -> node
    alone_on: dict[str, int]  # member -> nodes that take it, if it is the only one
    unfit: UnfitMember | None
    domains: tuple[Domain, ...] = ()  # the closest first; none where the group may be anywhere


def whatever_the_quorum(profile: Profile) -> Profile:
    """The profile for which any number of members is enough: all of them are tried."""
    return replace(profile, groups=replace(profile.groups, counts_gangs=False))


def shortfall_of(stage: GroupStage, found: FoundPlacement) -> Shortfall:
    """Raises nothing; `found` is what came of trying the group."""
    placements = found.placements
    with stage.cache.trial():
        forget_specs_of_nominated(stage.cache, stage.members)
        alone = _alone_on(stage)
        if placements is None or [each.name for each in placements] == [""]:
            fitting, unfit = _placed(stage, None)
            return Shortfall(fitting, alone, unfit)
        if not placements:
            key = topology_key(stage.group)
            message = found.placed.status.message + (f": no node that may take it has the label {key}" if key else "")
            return Shortfall({}, alone, UnfitMember(stage.members[0].key, message))
        domains = sorted(_domains(stage, placements), key=lambda each: (-each.fitting, each.name))
        rows = next(each.rows for each in placements if each.name == domains[0].name)
        fitting, unfit = _placed(stage, rows)
        return Shortfall(fitting, alone, unfit, tuple(domains))


def _alone_on(stage: GroupStage) -> dict[str, int]:
    view, known = stage.cache.view(), dict[PodShape, int]()
    for member in stage.members:
        shape = member.info.shape
        if shape not in known:
            try:
                known[shape] = len(filter_pod(stage.profile, member.info, view).feasible_rows)
            except CycleError:
                known[shape] = 0
    return {member.key: known[member.info.shape] for member in stage.members}


def _domains(stage: GroupStage, placements: Sequence[TriedPlacement]) -> list[Domain]:
    view, members = stage.cache.view(), stage.members
    room = room_for(stage.profile, members, view)
    found = []
    for each in placements:
        if room is not None:
            count = min(len(members), int(room[each.rows].sum()))
        else:
            free = replace(stage, profile=whatever_the_quorum(stage.profile))
            count = len(free.place(row_mask(each.rows, view.nodes.count)).assigned)
        found.append(Domain(each.name, len(each.rows), count))
    return found


def _placed(stage: GroupStage, rows: RowArray | None) -> tuple[dict[str, str], UnfitMember | None]:
    """Where the members go on these nodes (None: all), and why the first that goes nowhere does not."""
    cache, profile = stage.cache, stage.profile
    among = None if rows is None else row_mask(rows, cache.nodes.count)
    fitting: dict[str, str] = {}
    missing: list[Member] = []
    unfit = None
    with cache.trial():
        for member in stage.members:
            tried = try_member(profile, member, cache.view(), among)
            try:
                if tried.fits:
                    assume(cache, profile, member, tried.row)
                    fitting[member.key] = tried.node
                    continue
            except CycleError as error:
                tried.message = error.message
            missing.append(member)
            unfit = unfit or _unfit(profile, member, cache.view(), among, tried.message)
        if unfit is not None:
            unfit = replace(unfit, lacks=tuple(_lacks(cache.view(), among, missing, unfit)))
    return fitting, unfit


def _unfit(profile: Profile, member: Member, view: View, among: BoolArray | None, message: str) -> UnfitMember:
    try:
        pre = run_pre_filters(profile, member.info, view)
        filtered = filter_nodes(profile, member.info, view, pre, among=among)
    except CycleError:
        return UnfitMember(member.key, message)
    attempt = Attempt(member.info, pre, filtered, message=fit_error(filtered, view, "", among))
    explanation = Explanation(attempt, view, SUCCESS)
    causes, short = causes_of(explanation, among), frozenset(short_rows(explanation))
    return UnfitMember(member.key, message, tuple(causes), tuple(_verdicts(filtered, view, among)), short)


def _verdicts(filtered: Filtered, view: View, among: BoolArray | None) -> list[tuple[str, Plain]]:
    """What each node that was looked at was rejected for, by name."""
    in_question = view.nodes.alive if among is None else view.nodes.alive & among
    rejected = filtered.verdicts.rejected_by
    rows = (in_question & (rejected != PASSED) & (rejected != NOT_LOOKED_AT)).nonzero()[0].tolist()
    return sorted((view.nodes.names[row], plain_status(filtered.status_of(view, row))) for row in rows)


def _lacks(view: View, among: BoolArray | None, missing: Sequence[Member], unfit: UnfitMember) -> list[ResourceLack]:
    """Of each resource that some node has too little of: how much is asked for, and how much is free."""
    rows = (view.nodes.alive if among is None else view.nodes.alive & among).nonzero()[0]
    lacks = []
    for resource in missing[0].info.shape.requests.asked:
        column = view.nodes.resources.find(resource)
        if resource not in unfit.short or column == ABSENT or not len(rows):
            continue
        free = (view.nodes.allocatable[rows, column] - view.usage.requested[rows, column]).clip(0)
        asked = sum(member.info.shape.requests.asked.get(resource, 0) for member in missing)
        lacks.append(ResourceLack(resource, asked, int(free.sum()), int(free.max())))
    return lacks
