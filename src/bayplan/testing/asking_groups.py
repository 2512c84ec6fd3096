"""A plugin asked about a pod group, made of copies of a pod, in a cluster where groups are on.

The counterpart of `asking` for the three points that see groups as a whole. Every answer is checked for its form.
Nothing here knows which rules there are, but that asking must leave the cluster as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np

from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, row_array
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.group_contract import (
    GroupPlacement,
    GroupProposal,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupPostFiltered,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import GroupStage
from bayplan.core.groups.post_filter import FailedGroup
from bayplan.model.groups import GangPolicy, GroupSchedulingPolicy, PodGroup, PodGroupSpec
from bayplan.model.groups import GroupSchedulingConstraints as Constraints
from bayplan.model.groups import TopologyConstraint as Constraint
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.structs import replace as with_fields
from bayplan.model.well_known import ZONE
from bayplan.testing.asking import Case, default_profile, digest, require

SIZE: Final = 3  # members of the group that is asked about
_GROUP: Final = "group"


@cache
def _configuration() -> Configuration:
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    return load_configuration(None, gates, release=NEWEST_RELEASE, with_groups=True)


@cache
def _group_profile() -> Profile:
    """The default profile with pod groups on."""
    (profile,) = build_profiles(_configuration()).values()
    return profile


def group_of(case: Case) -> PodGroupInfo:
    """A gang of copies of the case's pod, all of which need a node of one zone."""
    return PodGroupInfo(_group(case), [case.cache.info(pod) for pod in _members(case)], [])


def _group(case: Case) -> PodGroup:
    spec = PodGroupSpec(
        scheduling_policy=GroupSchedulingPolicy(gang=GangPolicy(min_count=SIZE)),
        scheduling_constraints=Constraints(topology=[Constraint(key=ZONE)]),
        priority=case.info.priority,
    )
    return PodGroup(metadata=ObjectMeta(name=_GROUP, namespace=case.info.namespace, uid=_GROUP), spec=spec)


def _members(case: Case) -> list[Pod]:
    return [_member(case.pod, number) for number in range(SIZE)]


def _member(pod: Pod, number: int) -> Pod:
    name = f"{pod.metadata.name}-{number}"
    grouped = with_fields(pod.spec, scheduling_group=PodSchedulingGroup(pod_group_name=_GROUP))
    return with_fields(pod, metadata=with_fields(pod.metadata, name=name, uid=name), spec=grouped)


# ---------------------------------------------------------------- placements


def placements_of(plugin: Any, case: Case) -> list[tuple[str, tuple[str, ...]]] | Status:
    """Name and nodes of each placement, by name."""
    names, said = case.view.nodes.names, generated(plugin, case)
    if isinstance(said, Status):
        return said
    return sorted((each.name, tuple(sorted(names[row] for row in each.rows))) for each in said)


def generated(plugin: Any, case: Case) -> Sequence[GroupPlacement] | Status:
    rows = case.alive_rows.astype(np.intp)
    said: Any = plugin.generate_placements(group_of(case), case.view, rows)
    if isinstance(said, Status):
        require(not said.ok and said.reasons, "form", f"generate_placements rejects a group with {said!r}")
        return said
    proper = isinstance(said, Sequence) and all(isinstance(each, GroupPlacement) for each in said)
    require(proper, "form", f"generate_placements returns {said!r}, neither placements nor a Status")
    names = [each.name for each in said]
    require(len(set(names)) == len(names), "form", f"generate_placements uses a name twice: {', '.join(sorted(names))}")
    for each in said:
        strays = sorted(set(each.rows.tolist()) - set(rows.tolist()))
        require(not strays, "form", f"placement {each.name} has nodes that were not offered: rows {strays}")
        require(len(each.rows), "form", f"placement {each.name} has no nodes")
    return list(said)


def assignments_in(case: Case) -> list[PodGroupAssignments]:
    """The group on all nodes, and on each node alone, as if as many members as there is one of found a place."""
    rows = filter_pod(default_profile(), case.info, case.view).feasible_rows if len(case.alive_rows) else row_array([])
    if not len(rows):
        return []
    pods = group_of(case).pods
    whole = PodGroupAssignments(
        GroupPlacement("all", rows), pods, row_array([int(rows[at % len(rows)]) for at in range(SIZE)])
    )
    alone = [
        PodGroupAssignments(GroupPlacement(case.view.nodes.names[row], row_array([row])), pods[:1], row_array([row]))
        for row in rows.tolist()
    ]
    return [whole, *alone]


def placement_scores(plugin: Any, case: Case, assignments: Sequence[PodGroupAssignments]) -> IntArray:
    """(assignments,) final scores."""
    group = group_of(case)
    scores = plugin.score_placements(group, case.view, assignments)
    _check_scores("score_placements", scores, len(assignments))
    if hasattr(plugin, "normalize_placements"):
        scores = plugin.normalize_placements(group, scores.copy())
        _check_scores("normalize_placements", scores, len(assignments))
    return scores.copy()  # type: ignore[no-any-return]


def _check_scores(method: str, scores: Any, length: int) -> None:
    proper = isinstance(scores, np.ndarray) and scores.dtype == np.int64 and scores.shape == (length,)
    require(proper, "form", f"{method} gives {scores!r} for {length} placements, not as many int64")


def out_of_range(scores: IntArray) -> list[int]:
    outside: list[int] = scores[(scores < 0) | (scores > MAX_NODE_SCORE)].tolist()
    return outside


def _score_words(plugin: Any, case: Case) -> Any:
    assignments = assignments_in(case)
    return placement_scores(plugin, case, assignments).tobytes() if assignments else None


# ---------------------------------------------------------------- groups that do not fit


def group_post_filter_words(plugin: Any, case: Case) -> Any:
    """What is said of a group that does not fit; None of one that does."""
    groups = _groups_case(case)
    if groups is None:
        return None
    stage, failure = groups
    before = _seen(stage.cache, case)
    said = plugin.pod_group_post_filter(failure)
    after = _seen(stage.cache, case)
    changed = [part for part in before if before[part] != after[part]]
    require(not changed, "untouched", f"it changes {', '.join(changed)}")
    require(
        isinstance(said, PodGroupPostFiltered),
        "form",
        f"pod_group_post_filter returns {said!r}, not PodGroupPostFiltered",
    )
    if said.found is not None:
        _check_proposal(said.found, stage)
    return said.status, said.found and (tuple(said.found.victim_rows), dict(said.found.nodes)), said.actions


def _groups_case(case: Case) -> tuple[GroupStage, FailedGroup] | None:
    profile = _group_profile()
    cluster = Cache(_configuration().gates)
    for obj in (*case.objects, _group(case)):
        cluster.add(obj)
    members = [Member(pod, cluster.info(pod), queued_at=at) for at, pod in enumerate(_members(case))]
    stage = GroupStage(cluster, profile, _group(case), members)
    placed = stage.place()
    if placed.status.code is not Code.UNSCHEDULABLE:
        return None
    return stage, FailedGroup(stage, placed.tried)


def _seen(cluster: Cache, case: Case) -> dict[str, Any]:
    """As `digest`, but of pods only those that there are: trials leave rows behind that nobody uses."""
    view = cluster.view()
    parts = digest(replace(case, cache=cluster, view=view))
    rows = sorted(view.pods.rows_by_key.values())
    columns = {
        f"pods.{name}": column[rows].tobytes()
        for name, column in view.pods.arrays().items()
        if len(column) == len(view.pods.node_rows)
    }
    there = {"pods.keys": sorted(view.pods.rows_by_key.items())}
    return {name: part for name, part in parts.items() if not name.startswith("pods.")} | columns | there


def _check_proposal(found: GroupProposal, stage: GroupStage) -> None:
    view = stage.cache.view()
    absent = [
        row for row in found.victim_rows if not (0 <= row < len(view.pods.keys) and view.pods.node_rows[row] >= 0)
    ]
    require(not absent, "form", f"pod_group_post_filter proposes victims that are on no node: pod rows {absent}")
    strangers = sorted(set(found.nodes) - {member.key for member in stage.members})
    require(not strangers, "form", f"pod_group_post_filter nominates pods that are not members: {', '.join(strangers)}")
    unknown = sorted({name for name in found.nodes.values() if not _is_alive(stage, name)})
    require(not unknown, "form", f"pod_group_post_filter nominates to nodes that are not there: {', '.join(unknown)}")


def _is_alive(stage: GroupStage, name: str) -> bool:
    nodes = stage.cache.view().nodes
    row = nodes.rows_by_name.get(name)
    return row is not None and bool(nodes.alive[row])


_TRANSCRIBED: Final[Mapping[str, Callable[[Any, Case], Any]]] = {
    "placementGenerate": placements_of,
    "placementScore": _score_words,
    "podGroupPostFilter": group_post_filter_words,
}


def group_transcript(plugin: Any, points: Iterable[str], case: Case) -> list[tuple[str, Any]]:
    """All that the plugin says of a group of such pods, as values that can be compared."""
    return [(point, _TRANSCRIBED[point](plugin, case)) for point in points if point in _TRANSCRIBED]
