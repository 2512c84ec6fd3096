"""`check_plugin` lets a sound plugin pass and catches each kind of broken one, by rule, with its name and the seed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.contract.test_check_group_plugin import BROKEN_FOR_GROUPS

from bayplan.core.columns import loops
from bayplan.core.columns.loops import LEAST_ALLOCATED, Rule
from bayplan.model.cluster import Service
from bayplan.model.meta import ObjectMeta
from bayplan.plugin import (
    ALL_ROWS,
    OWN_PODS_DECIDE,
    SKIP,
    SUCCESS,
    UNFORESEEN,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    Failure,
    IntArray,
    NodeView,
    Object,
    OtherNodes,
    PerNodePlugin,
    PodInfo,
    PostFiltered,
    PreFiltered,
    Proposal,
    Reads,
    Ready,
    RowArray,
    Rows,
    Status,
    View,
    default_normalize,
    row_array,
    sign_constraints,
    sign_requests,
    unschedulable,
)
from bayplan.testing import RULES, check_plugin, compare_plugins, small_scene

SEEDS = range(10)


class Few:
    """At most two pods on a node, and the emptier the better: as it should be."""

    name: ClassVar[str] = "Few"
    reads: ClassVar[Reads] = Reads.USAGE
    score_reads: ClassVar[Reads] = Reads.USAGE

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return at_least_two(view.usage.pod_counts[rows])

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return unschedulable("node(s) had two pods")

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return 100 - 10 * np.minimum(view.usage.pod_counts[rows], 10)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return on_pods_and_nodes()


def at_least_two(counts: IntArray) -> IntArray:
    return (counts >= 2).astype(np.int64)


def on_pods_and_nodes() -> tuple[ClusterEventWithHint, ...]:
    return (
        ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE)),
        ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
    )


class PerNodeFew(PerNodePlugin):
    """The same, node by node; it says nothing of when to try again."""

    name: ClassVar[str] = "PerNodeFew"

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        return "" if node.view.usage.pod_counts[node.row] < 2 else f"{node.name} has two pods"

    def rate(self, pod: PodInfo, node: NodeView) -> int:
        return max(0, 100 - 10 * len(node.pod_keys))


@pytest.mark.parametrize("plugin", [Few, Few(), partial(Few), PerNodeFew])
def test_a_sound_plugin_passes(plugin: Any) -> None:
    """As a class, an instance, or a function that makes one."""
    check_plugin(plugin, seeds=SEEDS)


# ---------------------------------------------------------------- one broken plugin for each way to be broken


class HalfAFilter:
    name: ClassVar[str] = "HalfAFilter"

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return np.zeros(0, dtype=np.int64)


class Booleans(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> Any:
        return view.usage.pod_counts[rows] >= 2


class ForgetsRows(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, ALL_ROWS)


class OneTooMany(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return np.append(super().filter(state, view, rows), 0)


class NoWords(Few):
    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return unschedulable()


class SaysSuccess(Few):
    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return SUCCESS


class WritesAColumn(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        view.nodes.unschedulable[:] = True
        return super().filter(state, view, rows)


class WritesALabel(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        for row in range(view.nodes.count):
            view.nodes.labels[row]["seen"] = "yes"  # type: ignore[index]
        return super().filter(state, view, rows)


class ChangesThePod(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        state.spec.host_network = True
        return super().filter(state, view, rows)


class Counts(Few):
    calls = 0

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        self.calls = min(self.calls + 1, 100)
        return np.full(len(rows), self.calls, dtype=np.int64)


class Remembers(Few):
    """The same for ever, once it has been asked."""

    def __init__(self) -> None:
        self.limits: dict[str, int] = {}
        self.asked = 0

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        limit = self.limits.setdefault(state.key, len(self.limits) % 3)
        return (view.usage.pod_counts[rows] >= limit).astype(np.int64)


class CaresForTheOthers(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        counts = view.usage.pod_counts[rows]
        return (counts > counts.mean()).astype(np.int64) if len(counts) else counts


class FirstNodeOnly(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        first = np.zeros(view.nodes.count, dtype=np.int64)
        first[1:] = 1
        return first[rows]


class FailsWithoutNodes(Few):
    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(int(view.nodes.allowed_pods.max()))

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, rows)


class TooHigh(Few):
    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return 101 - view.usage.pod_counts[rows]


class Unconcerned(Few):
    def concerns(self, pod: PodInfo) -> bool:
        return False

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(pod)


class ReadsUsageInSecret(Few):
    reads = Reads.NODE


class KeepsUsageInItsState(Few):
    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(view.usage.pod_counts.copy())

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        return at_least_two(state[rows])


class ReadsLabelsInSecret(Few):
    def sign_pod(self, pod: PodInfo) -> tuple[Hashable, Hashable]:
        return sign_constraints(pod), sign_requests(pod)

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, rows) * ("other" not in state.shape.labels)


class ReadsRequestsInSecret(Few):
    sign_pod = staticmethod(sign_constraints)

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, rows) * (1 + state.shape.requests.asked.get("cpu", 0) % 7)


class ReadsTolerationsInSecret(Few):
    sign_pod = staticmethod(sign_requests)

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, rows) * (1 + len(state.spec.tolerations))


class ComparesNodesInSecret(Few):
    other_nodes = OtherNodes.NOTHING

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return super().filter(state, view, rows) * (1 + int(view.nodes.unschedulable.sum()))


class KeepsNodesInItsState(Few):
    other_nodes = OtherNodes.IMAGES

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(view.nodes.unschedulable.copy())

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        closed: IntArray = state[rows].astype(np.int64)
        return at_least_two(view.usage.pod_counts[rows]) + closed


class SkipsByNodes(Few):
    other_nodes = OtherNodes.NOTHING

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(pod) if view.nodes.unschedulable.sum() % 2 else SKIP


class ReadsTheClusterInSecret(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return at_least_two(view.usage.pod_counts[rows] + 2 * (view.usage.pod_counts.sum() % 2))


class ScoresTheClusterInSecret(Few):
    score_reads = Reads.NODE

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return np.full(len(rows), min(100, int(view.usage.pod_counts.sum())), dtype=np.int64)


class SkipsByUsage(Few):
    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(pod) if view.usage.pod_counts.sum() % 2 else SKIP


class NormalizesBySum(Few):
    score_reads = Reads.NODE

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return view.nodes.allowed_pods[rows]

    def normalize(self, state: PodInfo, scores: IntArray, rows: RowArray) -> IntArray:
        return scores * 100 // max(1, int(scores.sum()))


class NormalizesUsage(Few):
    def normalize(self, state: PodInfo, scores: IntArray, rows: RowArray) -> IntArray:
        return default_normalize(scores, reverse=False)


class Counting(Few):
    """Keeps its counts in the state, as it should be."""

    reads = Reads.CLUSTER

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(view.usage.pod_counts.copy())

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        return at_least_two(state[rows])

    def fork(self, state: Any, view: View) -> Any:
        return state.copy()

    def shift(self, state: Any, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        np.add.at(state, node_rows, sign)


class DoesNotFork(Counting):
    def fork(self, state: Any, view: View) -> Any:
        return state


class ShiftsEverywhere(Counting):
    def shift(self, state: Any, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        state += sign * len(node_rows)


class ShiftsOnce(Counting):
    """A node that is named several times counts once."""

    def shift(self, state: Any, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        state[node_rows] += sign


class LooksAtPodsThatMoved(PerNodePlugin):
    name: ClassVar[str] = "LooksAtPodsThatMoved"

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        return "" if len(node.pod_keys) < 2 else "node(s) had two pods"


class Foresees(Counting):
    """Knows what it says of nodes that nobody can leave, as it should be."""

    def foresee(self, state: Any, view: View, priority: int) -> IntArray:
        codes = self.filter(state, view, ALL_ROWS)
        below = view.pods.priorities < priority
        codes[np.unique(view.pods.node_rows[below & (view.pods.node_rows >= 0)])] = UNFORESEEN
        return codes


class ForeseesThatNothingChanges(Counting):
    def foresee(self, state: Any, view: View, priority: int) -> IntArray:
        return self.filter(state, view, ALL_ROWS)


class ForeseesNoVisitors(Foresees):
    def foresee(self, state: Any, view: View, priority: int) -> IntArray:
        return super().foresee(view.nodes.pod_counts, view, priority)


class ForeseesItselfAlone(Foresees):
    """Counts all pods of the cluster, and takes them for the node's own."""

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(np.full(view.nodes.count, view.usage.pod_counts.sum() - 4))

    def foresee(self, state: Any, view: View, priority: int) -> IntArray:
        return np.full(view.nodes.count, OWN_PODS_DECIDE)


class ForeseesByPriority(Foresees):
    """Looks at more than a pod's shape."""

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(view.usage.pod_counts + pod.priority % 3)


class ForeseesInTheWrongForm(Foresees):
    def foresee(self, state: Any, view: View, priority: int) -> Any:
        return super().foresee(state, view, priority) == 0


class HasAnotherRule(Few):
    """The rule that it says stands for its scores does not."""

    def score_rule(self, state: PodInfo) -> Rule:
        return Rule(LEAST_ALLOCATED, ((0, 1_000, 1),))


class ReservesWhatItSkips(Few):
    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return SKIP

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[Object]:
        return [Service(metadata=ObjectMeta(name=pod.name))]


class Deaf(Few):
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return ()


class HardOfHearing(Few):
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return tuple(
            ClusterEventWithHint(wanted.cluster_event, lambda pod, old, new: False) for wanted in on_pods_and_nodes()
        )


class PassesAll(Few):
    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return np.zeros(view.nodes.count, dtype=np.int64)[rows]


class Impartial(Few):
    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return np.full(len(rows), 5, dtype=np.int64)


class Raises(Few):
    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        raise RuntimeError("no scores today")


class SaysOnlyAStatus:
    name: ClassVar[str] = "SaysOnlyAStatus"

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> Status:
        return unschedulable("no")


class TakesFromElsewhere:
    """Proposes the first pod of all for the last node."""

    name: ClassVar[str] = "TakesFromElsewhere"

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        there = np.flatnonzero(view.pods.node_rows >= 0)
        last = int(np.flatnonzero(view.nodes.alive)[-1])
        strays = there[view.pods.node_rows[there] != last]
        if not len(strays):
            return PostFiltered(unschedulable())
        return PostFiltered(SUCCESS, Proposal(last, row_array([int(strays[0])])))


BROKEN = [
    (HalfAFilter, "form", "it has filter but no reads and no explain_failure"),
    (Booleans, "form", "filter gives bool, not int64"),
    (OneTooMany, "form", "filter gives shape"),
    (NoWords, "reasons", "explain_failure of code 1 has no reasons"),
    (SaysSuccess, "reasons", "says Success"),
    (WritesAColumn, "untouched", "it writes into a column of the snapshot"),
    (WritesALabel, "untouched", "it changes nodes.labels"),
    (ChangesThePod, "untouched", "it changes the pod"),
    (Counts, "repeat", "asked twice, it answers differently at score"),
    (Remembers, "repeat", "compared with a new instance"),
    (ForgetsRows, "rows", "asked about all rows, shuffled"),
    (CaresForTheOthers, "rows", "asked about all rows, a part of them"),
    (FirstNodeOnly, "order", "if nodes are added in reverse"),
    (FailsWithoutNodes, "empty", "in a cluster with no node it raises ValueError"),
    (TooHigh, "range", "final scores are 0 to 100, not [101"),
    (Unconcerned, "concerns", "concerns says no, yet pre_filter gives Ready"),
    (ReadsUsageInSecret, "reads", "(add USAGE, or CLUSTER)"),
    (KeepsUsageInItsState, "reads", "an old state gives different answers than a new one"),
    (ReadsTheClusterInSecret, "reads", "(add USAGE, or CLUSTER)"),
    (ScoresTheClusterInSecret, "reads", "score, after"),
    (SkipsByUsage, "reads", "pre_filter gives"),
    (NormalizesBySum, "reads", "normalize looks at more than the lowest and highest score"),
    (ReadsLabelsInSecret, "signature", "answers differently at filter for other labels, owner, volumes and terms"),
    (ReadsRequestsInSecret, "signature", "answers differently at filter for other requests"),
    (ReadsTolerationsInSecret, "signature", "answers differently at filter for other constraints"),
    (NormalizesUsage, "form", "it normalizes scores that depend on usage"),
    (DoesNotFork, "what-if", "changes the original state"),
    (ShiftsEverywhere, "what-if", "change the answer for another node"),
    (ComparesNodesInSecret, "other nodes", "it answers differently at filter for n"),
    (KeepsNodesInItsState, "other nodes", ", with the state made before"),
    (SkipsByNodes, "other nodes", "whether it skips at filter depends on node n"),
    (ShiftsOnce, "moved pods", "when that has really happened: it passes"),
    (LooksAtPodsThatMoved, "moved pods", "A state that depends on pods needs fork and shift"),
    (ForeseesThatNothingChanges, "foresight", "foresee says 1 for n"),
    (ForeseesNoVisitors, "foresight", "if no pod left it after others have come"),
    (ForeseesItselfAlone, "foresight", "own pods decide on n"),
    (ForeseesByPriority, "foresight", "for a pod of another name and priority"),
    (ForeseesInTheWrongForm, "form", "foresee gives no int64 array"),
    (HasAnotherRule, "compiled", "score_rule stands for"),
    (ReservesWhatItSkips, "form", "reserve returns something for a pod that pre_filter skips"),
    (Deaf, "wakes", "is rejected everywhere and fits after"),
    (HardOfHearing, "wakes", "is rejected everywhere and fits after"),
    (PassesAll, "exercised", "it rejected no node"),
    (Impartial, "exercised", "all its scores were equal"),
    (SaysOnlyAStatus, "form", "post_filter returns Status("),
    (TakesFromElsewhere, "form", "post_filter proposes victims that are not on the node"),
    (Raises, "form", "it raises RuntimeError while checking `untouched`: no scores today"),
]


@pytest.mark.parametrize(("plugin", "rule", "said"), BROKEN, ids=[plugin.__name__ for plugin, _, _ in BROKEN])
def test_a_broken_plugin_is_caught(plugin: Any, rule: str, said: str) -> None:
    """The message has the plugin's name, the rule, the seed where there is one, and what was found."""
    if plugin is HasAnotherRule and loops.compiled is None:
        pytest.skip("no compiled loops, which alone follow a plugin's rules")
    with pytest.raises(AssertionError, match=re.escape(said)) as caught:
        check_plugin(plugin, seeds=range(30))
    text = str(caught.value)
    assert plugin.name in text
    assert f"rule `{rule}`" in text
    assert rule in ("form", "exercised") or re.search(r"\(seed \d+\)", text)


def test_every_rule_has_a_plugin_that_breaks_it() -> None:
    assert {rule for _, rule, _ in (*BROKEN, *BROKEN_FOR_GROUPS)} == set(RULES)


@pytest.mark.parametrize("plugin", [Counting, Foresees])
def test_a_state_that_follows_pods_passes(plugin: Any) -> None:
    check_plugin(plugin, seeds=SEEDS)


def test_a_rule_can_be_waived() -> None:
    check_plugin(Deaf, seeds=SEEDS, waived={"wakes"})
    with pytest.raises(AssertionError, match="unknown rule wake;"):
        check_plugin(Few, waived={"wake"})


def test_compare_plugins_finds_a_difference() -> None:
    compare_plugins(Few, Counting, seeds=SEEDS)
    with pytest.raises(AssertionError, match=r"on node n\d \(seed \d+\): Few says .* Few says"):
        compare_plugins(Few, ReadsTheClusterInSecret, seeds=SEEDS)
    with pytest.raises(AssertionError, match=r"\(seed \d+\)"):
        compare_plugins(Few, Impartial, seeds=SEEDS)


def test_a_scene_is_the_same_for_a_seed() -> None:
    assert small_scene(7) == small_scene(7)
    assert small_scene(7) != small_scene(8)
