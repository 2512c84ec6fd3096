"""Reuse changes nothing: whatever happened to a cluster, decisions are those of one who never saw it before.

Random sequences of changes and decisions, each test with an emphasis of its own; how they are compared is said in
`comparing_decisions`.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from tests.oracle.changing_clusters import PRIORITIES, Changing, Step, take_step
from tests.oracle.changing_sequences import (
    AGAIN,
    DECIDE,
    PREEMPTING_SEQUENCES,
    RELABELING_SEQUENCES,
    RETRY,
    SCALING_SEQUENCES,
    SEQUENCES,
    WAITING_SEQUENCES,
)
from tests.oracle.comparing_decisions import PROFILES, act, agreed, play
from tests.support.examples import examples

from bayplan.core import deciding, ranking
from bayplan.core.columns import changes, counters, labels, name_ranks, nodes
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Unschedulable
from bayplan.core.plugins.pod_topology_spread import grouping as spread_grouping
from bayplan.core.plugins.pod_topology_spread import scoring as spread_scoring
from bayplan.core.preemption import candidates
from bayplan.core.reuse import scales

QUICK = examples(50, deadline=None, report_multiple_bugs=False)

#: A node is the first to name a resource, then pods go and come.
NEW_RESOURCE: list[Step] = [("node", 0, 4, 1), ("remove", 0, 0, 0), ("run", 0, 0, 0)]
#: Pods are counted by zone; then there are more zones, and a pod comes to the last of them.
NEW_ZONES: list[Step] = [(DECIDE, 7, 0, 1), ("node", 0, 0, 2), ("node", 1, 0, 3), ("run", 7, 0, 1), (AGAIN, 0, 0, 1)]
#: The cheapest victim gets the protection of a budget between two equal questions.
NEW_BUDGET: list[Step] = [
    ("remove", 0, 0, 0),
    ("run", 2, 0, 8),
    (DECIDE, 2, 3, 0),
    ("budget", 0, 2, 0),
    (AGAIN, 0, 0, 0),
]
#: A pod that must go to one node, where it does not fit, is tried again after pods have come and gone.
TIED_TO_A_FULL_NODE: list[Step] = [
    (DECIDE, 27, 0, 0),
    ("run", 0, 0, 1),
    (AGAIN, 0, 0, 0),
    *[("run", 0, 0, 1)] * 9,
    (AGAIN, 0, 0, 0),
]
#: The same where PreFilter rejects the pod, and where more happens in between.
REJECTED_BY_PRE_FILTER: list[Step] = [(DECIDE, 28, 0, 0), *[("run", 0, 0, 1)] * 2, (AGAIN, 0, 0, 0)]
#: One pod names its node and others of its shape name none, before and after it.
NAMES_ITS_NODE: list[Step] = [
    (DECIDE, 25, 3, 0),
    (DECIDE, 29, 3, 0),
    ("node", 0, 0, 2),
    (AGAIN, 0, 0, 0),
    (DECIDE, 25, 3, 0),
]


@pytest.mark.usefixtures("either_way")
@QUICK
@given(SEQUENCES)
@example(NEW_RESOURCE)
@example(TIED_TO_A_FULL_NODE)
@example(REJECTED_BY_PRE_FILTER)
@example(NAMES_ITS_NODE)
@example(NEW_ZONES)
@example(NEW_BUDGET)
def test_reuse_changes_nothing(steps: list[Step]) -> None:
    """Reusing, computing all anew and rebuilding all columns lead to the same decisions."""
    play(steps)


#: Terms of several topology keys reach the last pod, and a column of labels is dropped while they are counted.
SEVERAL_KEYS: list[Step] = [
    *((DECIDE, 0, 0, int(number >= 10)) for number in range(13)),
    *(("run", 0, 0, 0), ("remove node", 0, 0, 0), ("node", 0, 0, 0)),
    *((DECIDE, 0, 0, 1), (DECIDE, 14, 0, 1), ("remove node", 0, 0, 0), (DECIDE, 38, 0, 0)),
]


@QUICK
@given(SEQUENCES | PREEMPTING_SEQUENCES)
@example(SEVERAL_KEYS)
def test_little_is_kept(steps: list[Step]) -> None:
    """The same where logs are short, standings are forgotten soon, and victims are looked for in the whole table."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes, "LOG_LENGTH_MAX", 4)
        patched.setattr(deciding, "ANSWERS_BYTES_MAX", 2 * deciding.BASE_BYTES)
        patched.setattr(deciding, "GONE_MAX", 0)
        patched.setattr(counters, "COUNTS_BYTES_MAX", 5_000)
        patched.setattr(labels, "COLUMNS_MAX", 1)
        patched.setattr(nodes, "INITIAL_CAPACITY", 1)  # the table gets shorter as soon as half of it is free
        patched.setattr(candidates, "FEW_NODES", 1)
        play(steps)


#: The only node with two soft taints is full when the last pod but one comes: the scores of all others, which have one,
#: are no longer measured by it. Then one loses its taint.
TAINTED_AND_FULL: list[Step] = [
    *(("node", number, 2, 1 + (number == 0)) for number in range(4)),
    *((DECIDE, 0, 0, 1), (AGAIN, 0, 0, 0), (AGAIN, 0, 0, 0)),
    ("run", 2, 0, 0),
    (AGAIN, 0, 0, 1),
    ("node", 3, 2, 0),
    (AGAIN, 0, 0, 1),
]
#: A node that was closed to the pod opens, and is the only one with the label it prefers.
OPENED: list[Step] = [("node", 3, 2, 3), (DECIDE, 16, 0, 0), ("node", 3, 1, 1), ("node", 3, 2, 0), (AGAIN, 0, 0, 0)]
#: A node is the first to hold an image, and then another holds it, too.
NEW_IMAGE: list[Step] = [(DECIDE, 4, 0, 0), ("node", 0, 5, 5), (AGAIN, 0, 0, 0), ("node", 1, 5, 5), (AGAIN, 0, 0, 0)]
#: What a pod would have to evict changes with the size of a node.
GROWN_NODE: list[Step] = [("run", 2, 0, 0), ("run", 2, 0, 1), (DECIDE, 2, 3, 0), ("node", 0, 4, 3), (AGAIN, 0, 0, 0)]


@pytest.mark.usefixtures("either_way")
@QUICK
@given(RELABELING_SEQUENCES)
@example(TAINTED_AND_FULL)
@example(OPENED)
@example(NEW_IMAGE)
@example(GROWN_NODE)
def test_a_changed_node_is_followed(steps: list[Step]) -> None:
    """The same where node objects change all the time."""
    play(steps)


#: The image that one node has counts for less with every node that joins, and for more when one has left.
RARER_IMAGE: list[Step] = [
    *(("node", 0, 5, 5), (DECIDE, 4, 0, 0), (AGAIN, 0, 0, 0)),
    *(("node", 4, 4, 4), (AGAIN, 0, 0, 0)),
    *(("remove node", 1, 0, 0), (AGAIN, 0, 0, 0)),
]


@pytest.mark.usefixtures("either_way")
@QUICK
@given(SCALING_SEQUENCES)
@example(RARER_IMAGE)
def test_nodes_that_join_and_leave_are_followed(steps: list[Step]) -> None:
    """As in a large cluster, where one that joins does not have all names numbered again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(name_ranks, "MANY", 1)
        play(steps)


@pytest.mark.usefixtures("either_way")
@QUICK
@given(SEQUENCES | RELABELING_SEQUENCES | SCALING_SEQUENCES)
@example(TAINTED_AND_FULL)
@example(OPENED)
def test_what_is_meant_for_many_nodes_is_right_for_few(steps: list[Step]) -> None:
    """The same with blocks of two nodes, array code for every number of rows, no table of scores, shared domains."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranking, "BLOCK_BITS", 1)
        patched.setattr(scales, "TABLE_LENGTH_MAX", 0)
        patched.setattr(spread_scoring, "FEW_HELD", 0)
        patched.setattr(spread_grouping, "NODES_PER_GROUP", 0)
        patched.setattr(name_ranks, "MANY", 1)
        play(steps)


@QUICK
@given(SEQUENCES | PREEMPTING_SEQUENCES)
def test_pods_of_others_are_spared_with_and_without_reuse(steps: list[Step]) -> None:
    play(steps, frozenset(PROFILES))


#: A node without CPU has the only GPU, and keeps it for the pod that is tried; then comes one like it.
KEPT_FOR_ITSELF: list[Step] = [
    ("node", 0, 4, 9),
    (DECIDE, 23, 3, 0),
    ("nominate", 23, 3, 0),
    (RETRY, 0, 0, 0),
    (AGAIN, 0, 0, 0),
]
#: The same from the other side, and then the node is no longer kept.
KEPT_FOR_ANOTHER: list[Step] = [*KEPT_FOR_ITSELF, (RETRY, 0, 0, 0), ("remove", 24, 0, 0), (AGAIN, 0, 0, 0)]
#: All nodes but one go, where a pod of two CPUs stands.
ONE_LEFT: list[Step] = [("remove node", number, 0, 0) for number in (3, 2, 1)]
#: With the pod gone there is room for one that is nominated, and none for another like it.
ROOM_FOR_ONE: list[Step] = [*ONE_LEFT, ("nominate", 2, 3, 0), (DECIDE, 2, 3, 0), (RETRY, 0, 0, 0)]
#: A pod that could be evicted, though in vain, goes by itself.
NOBODY_BELOW: list[Step] = [
    *ONE_LEFT,
    ("change", 0, 2, 3),
    ("run", 0, 0, 0),
    (DECIDE, 2, 1, 0),
    ("remove", 9, 0, 0),
    (AGAIN, 0, 0, 0),
]
#: The pod there loses its importance between two questions.
LESS_IMPORTANT: list[Step] = [
    *ONE_LEFT,
    ("change", 0, 2, 3),
    (DECIDE, 2, 1, 0),
    ("change", 0, 2, 0),
    (AGAIN, 0, 0, 0),
]
#: Nothing is asked of the pods, but a node is closed.
CLOSED: list[Step] = [(DECIDE, 24, 0, 0), ("node", 0, 2, 3), (AGAIN, 0, 0, 0)]
#: Of two pods that are alike otherwise one must not preempt.
NEVER_PREEMPTS: list[Step] = [
    ("run", 2, 0, 0),
    ("run", 1, 0, 1),
    (DECIDE, 20, 3, 0),
    (DECIDE, 25, 3, 0),
    (DECIDE, 20, 3, 0),
]


@QUICK
@given(WAITING_SEQUENCES)
@example(KEPT_FOR_ITSELF)
@example(KEPT_FOR_ANOTHER)
@example(ROOM_FOR_ONE)
@example(NOBODY_BELOW)
@example(LESS_IMPORTANT)
@example(CLOSED)
@example(NEVER_PREEMPTS)
def test_trying_again_in_vain_changes_nothing(steps: list[Step]) -> None:
    """The same for pods that fit nowhere again and again, some nominated and some in the way of those."""
    play(steps)


def test_a_diagnosis_is_repeated_while_nothing_changes() -> None:
    """An identical pod gets the same answer without a second look; whatever happens in between makes it look again."""
    world, decider = Changing(), Decider(PROFILES)
    waiting = world.cache.info(world.new_pod(24, 0))

    def unschedulable() -> Choice:
        choice = decider.decide(world.cache.info(world.new_pod(24, 0)), world.cache.view())
        assert isinstance(choice, Unschedulable)
        return choice

    first = unschedulable()
    assert unschedulable() is first
    for cluster_event in (
        ("run", 0, 0, 0),
        ("change", 0, 1, 30),
        ("nominate", 0, 3, 0),
        ("node", 0, 0, 2),
        ("budget", 0, 0, 0),
    ):
        before = unschedulable()
        take_step(world, cluster_event)
        assert unschedulable() is not before, cluster_event
    assert waiting.shape is world.cache.info(world.new_pod(24, 0)).shape


#: Two evict others, one after the other, while a node is kept for a third that counts for both.
KEPT_FOR_ONE_THAT_COUNTS: list[Step] = [
    *(("node", number, 4, 0) for number in range(4)),
    ("run", 1, 0, 0),
    ("run", 1, 0, 1),
    ("nominate", 31, 3, 0),
    (DECIDE, 31, 3, 1),
    (AGAIN, 0, 0, 1),
    (AGAIN, 0, 0, 2),
]


@QUICK
@given(PREEMPTING_SEQUENCES)
@example(KEPT_FOR_ONE_THAT_COUNTS)
def test_preempting_with_an_eye_on_others_changes_nothing(steps: list[Step]) -> None:
    """The same for pods that evict others and are spread, or kept together or apart."""
    play(steps)


def test_every_kind_of_decision_occurs() -> None:
    """A fixed sequence places, preempts and fails, so that the tests above compare all three."""
    world, decider = Changing(), Decider(PROFILES)
    seen = set()
    for number in range(12):
        pattern = 0 if number < 2 else 2 if number < 11 else 24
        pod = world.new_pod(pattern, PRIORITIES.index(200))
        choice = agreed(world, decider, pod)
        seen.add((choice.node is not None, choice.victims_from is not None))
        act(world, pod, choice, 1)
    assert seen == {(True, False), (False, True), (False, False)}
