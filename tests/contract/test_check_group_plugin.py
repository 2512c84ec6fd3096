"""`check_plugin` for plugins that see pod groups as a whole: sound ones pass, and each kind of broken one is caught."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from bayplan.config.registry import OF_PLACEMENTS
from bayplan.plugin import (
    SUCCESS,
    GroupFailure,
    GroupPlacement,
    GroupProposal,
    IntArray,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupPostFiltered,
    RowArray,
    View,
    row_array,
    unschedulable,
)
from bayplan.testing import check_plugin

SEEDS = range(12)


class ByDisk:
    """Nodes with the same kind of disk, as it should be."""

    name: ClassVar[str] = "ByDisk"

    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        by_disk: dict[str, list[int]] = {}
        for row in rows.tolist():
            disk = view.nodes.labels[row].get("disk")
            if disk is not None:
                by_disk.setdefault(disk, []).append(row)
        return [GroupPlacement(disk, row_array(found)) for disk, found in by_disk.items()]


class FewerNodes:
    """The fewer nodes a placement has, the better; brought into the range afterwards. As it should be."""

    name: ClassVar[str] = "FewerNodes"

    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        return np.array([-len(each.placement.rows) for each in assignments], dtype=np.int64)

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray:
        return 100 + scores


class EvictsTheLeast:
    """Takes the least important pod if that is enough, as it should be."""

    name: ClassVar[str] = "EvictsTheLeast"

    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        pods = failure.view.pods
        running = [row for row in (pods.node_rows >= 0).nonzero()[0].tolist() if not pods.terminating[row]]
        for row in sorted(running, key=lambda row: (int(pods.priorities[row]), pods.keys[row])):
            nodes = failure.nodes_without([row])
            if nodes is not None:
                return PodGroupPostFiltered(SUCCESS, GroupProposal([row], nodes))
        return PodGroupPostFiltered(unschedulable("no single pod is in the way"))


@pytest.mark.parametrize("plugin", [ByDisk, FewerNodes, EvictsTheLeast, *OF_PLACEMENTS])
def test_a_sound_plugin_passes(plugin: Any) -> None:
    check_plugin(plugin, seeds=SEEDS)


def test_the_sound_one_makes_room_in_some_scene() -> None:
    """Or its proposals would never have been looked at."""
    proposed: list[GroupProposal] = []

    class Listened(EvictsTheLeast):
        def pod_group_post_filter(self, failure: GroupFailure) -> Any:
            said = super().pod_group_post_filter(failure)
            proposed.extend([said.found] if said.found is not None else [])
            return said

    check_plugin(Listened, seeds=SEEDS)
    assert proposed


# ---------------------------------------------------------------- one broken plugin for each way to be broken


class SaysNothing(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return None


class SaysSuccess(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return SUCCESS


class SameName(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return [GroupPlacement("x", rows[:1]), GroupPlacement("x", rows[1:])] if len(rows) > 1 else []


class MakesUpNodes(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return [GroupPlacement("x", row_array([view.nodes.count]))]


class Empties(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return [GroupPlacement("x", rows[:0])]


class MarksNodes(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        view.nodes.unschedulable[:] = False
        return super().generate_placements(group, view, rows)


class FirstHalf(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        half = (len(rows) + 1) // 2
        return [GroupPlacement("first", rows[:half]), GroupPlacement("last", rows[half:])] if len(rows) > 1 else []


class Whole(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return [GroupPlacement("", rows)] if len(rows) else []


class NeedsNodes(ByDisk):
    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        return [GroupPlacement("first", row_array([rows.tolist()[0]])), *super().generate_placements(group, view, rows)]


class CountsItsCalls(ByDisk):
    calls = 0

    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Any:
        self.calls += 1
        return [GroupPlacement(f"call {self.calls}", rows)] if len(rows) else []


class Plain(FewerNodes):
    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        return [len(each.pods) for each in assignments]


class TooMany(FewerNodes):
    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        return np.zeros(len(assignments) + 1, dtype=np.int64)


class TooHigh(FewerNodes):
    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray:
        return 102 + scores


class RowNumbers(FewerNodes):
    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        return np.array([-int(each.placement.rows.max()) for each in assignments], dtype=np.int64)


class LooksAtNodesInSecret(FewerNodes):
    sees_counts_only = True

    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        known = [each.node_rows is not None for each in assignments]
        return np.array(known, dtype=np.int64)

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray:
        return scores


class AllTheSame(FewerNodes):
    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> Any:
        return np.zeros(len(assignments), dtype=np.int64)


class SaysOnlyAStatus(EvictsTheLeast):
    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        return unschedulable("no")


class EvictsNobody(EvictsTheLeast):
    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        return PodGroupPostFiltered(SUCCESS, GroupProposal([len(failure.view.pods.keys)], {}))


class NominatesStrangers(EvictsTheLeast):
    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        return PodGroupPostFiltered(SUCCESS, GroupProposal([], {"default/somebody": "n0"}))


class NominatesToNowhere(EvictsTheLeast):
    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        return PodGroupPostFiltered(SUCCESS, GroupProposal([], {pod.key: "nowhere" for pod in failure.info.pods}))


class EvictsAtOnce(EvictsTheLeast):
    def pod_group_post_filter(self, failure: GroupFailure) -> Any:
        failure.view.pods.priorities[:] += 1
        return PodGroupPostFiltered(unschedulable("done"))


BROKEN_FOR_GROUPS = [
    (SaysNothing, "form", "generate_placements returns None"),
    (SaysSuccess, "form", "generate_placements rejects a group with"),
    (SameName, "form", "generate_placements uses a name twice: x, x"),
    (MakesUpNodes, "form", "has nodes that were not offered"),
    (Empties, "form", "placement x has no nodes"),
    (MarksNodes, "untouched", "it writes into a column of the snapshot"),
    (FirstHalf, "order", "if nodes are added in reverse"),
    (NeedsNodes, "empty", "in a cluster with no node it raises IndexError"),
    (CountsItsCalls, "repeat", "asked twice, it answers differently at placementGenerate"),
    (Whole, "exercised", "it made no more than one placement"),
    (Plain, "form", "score_placements gives ["),
    (TooMany, "form", "score_placements gives"),
    (TooHigh, "range", "final scores of placements are 0 to 100, not [101"),
    (RowNumbers, "order", "if nodes are added in reverse"),
    (LooksAtNodesInSecret, "counts", "if it is not known where members are"),
    (AllTheSame, "exercised", "all its scores of placements were equal"),
    (SaysOnlyAStatus, "form", "pod_group_post_filter returns Status("),
    (EvictsNobody, "form", "proposes victims that are on no node"),
    (NominatesStrangers, "form", "nominates pods that are not members: default/somebody"),
    (NominatesToNowhere, "form", "nominates to nodes that are not there: nowhere"),
    (EvictsAtOnce, "untouched", "it changes pods.priorities"),
]


@pytest.mark.parametrize(
    ("plugin", "rule", "said"), BROKEN_FOR_GROUPS, ids=[plugin.__name__ for plugin, _, _ in BROKEN_FOR_GROUPS]
)
def test_a_broken_plugin_is_caught(plugin: Any, rule: str, said: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(said)) as caught:
        check_plugin(plugin, seeds=SEEDS)
    assert f"rule `{rule}`" in str(caught.value)
