"""How placements of a group are made and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.framework.group_contract import GroupPlacement, PodGroupAssignments, PodGroupInfo
from bayplan.core.framework.verdict import Code, CycleError, Status, unresolvable, unschedulable
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(
    None, "GenericWorkload=true,TopologyAwareWorkloadScheduling=true", release=RELEASES["1.37"], with_groups=True
)


def node(name: str, rack: str, cpu: str) -> Node:
    return make.node(name).capacity(cpu=cpu, memory="8Gi", pods=10).labels(rack=rack).obj()


def test_what_pods_take_of_a_resource_that_their_node_does_not_have_is_not_counted() -> None:
    """A pod with a cpu is on a node without any: it makes the rack no fuller."""
    cache = Cache(CONFIGURATION.gates)
    for each in (node("a1", "a", "4"), node("a2", "a", "0"), node("b1", "b", "4"), node("b2", "b", "4")):
        cache.add(each)
    cache.add(make.pod("old").cpu("2").memory("1Gi").node("a2").obj())
    group = make.pod_group("g").gang(1).within("rack").obj()
    pod = make.pod("x").cpu("1").memory("1Gi").in_group("g").obj()
    attempt = attempt_group(cache, build_profiles(CONFIGURATION), group, [Member(pod, cache.info(pod))])
    assert attempt.found is not None
    scores = {each.name: each.scores["NodeResourcesFit"] for each in attempt.found.placements or ()}
    # Of rack a's cpu 25 % and of its memory 12 %, of rack b's 12 % and 6 %.
    assert scores == {"a": (25 + 12) // 2, "b": (12 + 6) // 2}


def test_where_nobody_was_tried_the_first_placement_says_no_more_than_that() -> None:
    """A member that is being deleted counts for entering the queue, and is not tried."""
    cache = Cache(CONFIGURATION.gates)
    cache.add(node("a1", "a", "4"))
    group = make.pod_group("g").gang(2).within("rack").obj()
    pods = [make.pod("x").in_group("g").obj(), make.pod("y").in_group("g").terminating().obj()]
    attempt = attempt_group(
        cache, build_profiles(CONFIGURATION), group, [Member(each, cache.info(each)) for each in pods]
    )
    said = "0/1 placements are available, first placement status: pod group is unschedulable"
    assert attempt.root.message == f"pod group is unschedulable, {said}"


# ---------------------------------------------------------------- plugins of a profile's own


class Asked:
    """A plugin at both points that see placements; a test says what it answers."""

    name: ClassVar[str] = "Asked"

    def __init__(self, scores: dict[str, int] | str = "", placements: Status | None = None) -> None:
        self.scores, self.placements = scores, placements
        self.seen: list[PodGroupAssignments] = []

    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        if self.placements is not None:
            return self.placements
        return [GroupPlacement(view.nodes.names[row], row_array([row])) for row in rows.tolist()]

    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> IntArray:
        self.seen = list(assignments)
        if isinstance(self.scores, str):
            raise CycleError(self.name, self.scores)
        return np.array([self.scores[each.placement.name] for each in assignments], dtype=np.int64)


def tried(plugin: Asked, *, in_full: bool = True) -> GroupAttempt:
    """A gang of two on either of two nodes."""
    profile = build_profiles(CONFIGURATION)["default-scheduler"]
    profile = replace(profile, groups=replace(profile.groups, generate=plugin, score=((plugin, 3),), post_filter=()))
    cache = Cache(CONFIGURATION.gates)
    for name in ("a", "b"):
        cache.add(node(name, name, "4"))
    pods = [make.pod(name).cpu("1").in_group("g").obj() for name in ("x", "y")]
    members = [Member(pod, cache.info(pod)) for pod in pods]
    group = make.pod_group("g").gang(2).obj()
    return attempt_group(cache, {profile.scheduler_name: profile}, group, members, in_full=in_full)


@pytest.mark.parametrize("in_full", [True, False])
def test_a_plugin_divides_the_nodes_and_scores_the_parts(in_full: bool) -> None:
    plugin = Asked({"a": 10, "b": 20})
    attempt = tried(plugin, in_full=in_full)
    assert [each.node for each in attempt.outcomes] == ["b", "b"]
    assert attempt.found is not None
    assert [(each.name, each.total) for each in attempt.found.placements or ()] == [("a", 30), ("b", 60)]
    # It has promised nothing, so it knows where each member would go.
    assert [[] if each.node_rows is None else each.node_rows.tolist() for each in plugin.seen] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("no scores today", 'running PlacementScore plugins: plugin "Asked" failed with: no scores today'),
        (
            {"a": 0, "b": 101},
            'applying score defaultWeights on PlacementScore plugins: plugin "Asked" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
    ],
)
def test_scores_that_cannot_be_used_are_an_error(scores: Any, message: str) -> None:
    attempt = tried(Asked(scores))
    assert attempt.condition is not None
    assert (attempt.condition.reason, attempt.condition.message) == ("SchedulerError", message)
    assert [each.reason for each in attempt.outcomes] == ["SchedulerError", "SchedulerError"]


@pytest.mark.parametrize(
    ("status", "reason", "preempts"),
    [
        (unschedulable("not today"), "Unschedulable", True),
        (unresolvable("never"), "Unschedulable", False),
        (Status(Code.ERROR, ("broken",)), "SchedulerError", False),
    ],
)
def test_a_status_in_place_of_placements_rejects_the_group(status: Status, reason: str, preempts: bool) -> None:
    attempt = tried(Asked(placements=status))
    assert attempt.condition is not None
    assert attempt.condition.reason == reason
    assert attempt.condition.message.startswith(status.message)
    assert (attempt.preemption is not None) is preempts
