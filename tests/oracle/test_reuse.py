"""Reuse changes nothing: whatever happened to a cluster, decisions are those of somebody who never saw it before.

One long-lived decider that reuses all it can is held against deciders that compute everything, and the columns that
followed every change against columns built from what is there now. Ties, totals, victims and messages must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import event, example, given, settings
from tests.oracle.changing_clusters import (
    AGAIN,
    DECIDE,
    PREEMPTING_SEQUENCES,
    PRIORITIES,
    RELABELLING_SEQUENCES,
    RETRY,
    SCALING_SEQUENCES,
    SEQUENCES,
    WAITING_SEQUENCES,
    Changing,
    Step,
    key_of,
    ports_held,
    take_step,
)
from tests.preempting import default_profile

from bayplan.core import deciding, ranking, scales, standing
from bayplan.core.cache import Cache
from bayplan.core.columns import changes, levels
from bayplan.core.columns.counters import NodeCounts
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, NeedsPreemption, Unschedulable
from bayplan.core.diagnosis import Diagnosis
from bayplan.core.plugins.pod_topology_spread import grouping as spread_grouping
from bayplan.core.plugins.pod_topology_spread import scoring as spread_scoring
from bayplan.core.preemption import candidates
from bayplan.core.preemption.prepare import overtaken
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod

PROFILES = {"default-scheduler": default_profile()}


@dataclass(frozen=True)
class Decision:
    """A choice in names."""

    node: str | None
    total: int | None
    tied: tuple[str, ...]
    victims_from: str | None
    victims: dict[str, tuple[str, ...]]  # by tied node
    diagnosis: Diagnosis | None
    keeps_nomination: bool


def named(choice: Choice, view: View) -> Decision:
    names, keys = view.nodes.names, view.pods.keys
    tied_rows = [] if isinstance(choice, Unschedulable) else choice.tied_rows.tolist()
    victims = {names[row]: choice.victims_on(row) for row in tied_rows} if isinstance(choice, NeedsPreemption) else {}
    return Decision(
        node=names[choice.row] if isinstance(choice, Fits) else None,
        total=choice.total if isinstance(choice, Fits) else None,
        tied=tuple(sorted(names[row] for row in tied_rows)),
        victims_from=names[choice.row] if isinstance(choice, NeedsPreemption) else None,
        victims={name: tuple(keys[row] for row in rows) for name, rows in victims.items()},
        diagnosis=None if isinstance(choice, Fits) else choice.diagnosis,
        keeps_nomination=isinstance(choice, Unschedulable) and choice.keeps_nomination,
    )


def decided(decider: Decider, cache: Cache, pod: Pod) -> Decision:
    info = cache.info(pod)
    view = cache.view()
    return named(decider.decide(info, view), view)


def play(steps: list[Step], own_schedulers: frozenset[str] | None = None, *, rebuilds: bool = True) -> None:
    """Take the steps; at each decision everybody must agree.

    Columns are compared with rebuilt ones at the end in any case, decisions on them only where it `rebuilds`.
    """
    world = Changing(Cache(own_schedulers=own_schedulers))
    reusing, lagging = Decider(PROFILES), Decider(PROFILES)
    alike = (1, 2)  # pattern and priority of the last pod
    for step in steps:
        kind, first, second, third = step
        if kind in (DECIDE, AGAIN):
            alike = (first, second) if kind == DECIDE else alike
            pod = world.new_pod(*alike)
        elif kind == RETRY and world.nominated:
            pod = list(world.nominated.values())[first % len(world.nominated)]
        else:
            if kind != RETRY:
                take_step(world, step)
            continue
        choice = agreed(world, reusing, pod, rebuilds=rebuilds)
        event(f"{'placed' if choice.node else 'preempts' if choice.victims_from else 'fits nowhere'}")
        if third % 2:
            assert decided(lagging, world.cache, pod) == choice
        act(world, pod, choice, third)
    assert_same_columns(world.cache, world.rebuilt())


def agreed(world: Changing, reusing: Decider, pod: Pod, *, rebuilds: bool = True) -> Decision:
    choice = decided(reusing, world.cache, pod)
    assert choice == decided(Decider(PROFILES, reuse=False), world.cache, pod)
    if rebuilds:
        assert choice == decided(Decider(PROFILES, reuse=False), world.rebuilt(), pod)
    if world.cache.pods.own_schedulers is not None:
        evicted = [world.pods[key] for keys in choice.victims.values() for key in keys]
        assert {victim.spec.scheduler_name for victim in evicted} <= world.cache.pods.own_schedulers
    return choice


def act(world: Changing, pod: Pod, choice: Decision, how: int) -> None:
    """Do what was decided: mostly at once, sometimes as a live cluster does, and sometimes not at all."""
    key = key_of(pod)
    if how % 4 == 0:
        return
    if choice.node is not None:
        world.run(pod, choice.node)
    elif choice.victims_from is not None:
        name = choice.victims_from
        info, view = world.cache.info(pod), world.cache.view()
        for gone in (*choice.victims[name], *overtaken(info, view, name)):
            world.drop(gone)
        if how % 3:
            world.run(pod, name)
        else:
            if key in world.nominated:
                world.drop(key)
            world.nominate(pod, name)


# Columns.


def assert_same_columns(kept: Cache, rebuilt: Cache) -> None:
    assert node_columns(kept) == node_columns(rebuilt)
    assert pods_by_node(kept) == pods_by_node(rebuilt)
    assert ports_held(kept) == ports_held(rebuilt)
    assert claim_users(kept) == claim_users(rebuilt)
    assert_same_counts(kept, rebuilt)


def node_columns(cache: Cache) -> dict[str, Any]:
    """What the table says of each node, by name; resources by name, as the tables number them differently."""
    nodes = cache.view().nodes
    names = nodes.resources.values

    def amounts(row: Any) -> dict[str, int]:
        return {name: amount for name, amount in zip(names, row.tolist(), strict=True) if amount}

    return {
        name: (
            bool(nodes.alive[row]),
            bool(nodes.unschedulable[row]),
            amounts(nodes.allocatable[row]),
            int(nodes.allowed_pods[row]),
            amounts(nodes.requested[row]),
            nodes.nonzero_requested[row].tolist(),
            int(nodes.pod_counts[row]),
            nodes.taint_sets.values[nodes.taint_set_ids[row]],
            dict(nodes.labels[row]),
            {image for image, state in nodes.images.items() if row in state.rows},
        )
        for name, row in nodes.rows_by_name.items()
    }


def pods_by_node(cache: Cache) -> dict[str, list[tuple[Any, ...]]]:
    """Pods of each node in the node's order, as the pod table has them; nominated ones under their node's name."""
    nodes, pods = cache.nodes, cache.pods

    def columns(row: int) -> tuple[Any, ...]:
        requests = dict(zip(cache.resources.values, pods.requests[row].tolist(), strict=False))
        return (
            pods.keys[row],
            int(pods.slots[row]),
            int(pods.priorities[row]),
            int(pods.started_at[row]),
            bool(pods.terminating[row]),
            bool(pods.foreign[row]),
            pods.owner(row),
            {name: amount for name, amount in requests.items() if amount},
        )

    running = {name: [columns(row) for row in nodes.pod_rows[at]] for name, at in nodes.rows_by_name.items()}
    waiting = {f"nominated to {name}": [columns(row) for row in rows] for name, rows in cache.nominated.items()}
    return running | waiting


def claim_users(cache: Cache) -> dict[tuple[str, str], set[str]]:
    names, users = cache.nodes.names, cache.pods.volume_users
    return {claim: {names[row] for row in users.rows_using(*claim)} for claim in users._by_claim}


def assert_same_counts(kept: Cache, rebuilt: Cache) -> None:
    """Every counter that was ever asked for, against one made on the spot."""
    for key, counter in kept.counters._pod_counters.items():
        fresh = rebuilt.counters.pods_matching(**key._asdict())
        assert_same_count(kept, counter.nodes, rebuilt, fresh.nodes)
    for term_id, counts in kept.counters._carriers.items():
        assert_same_carriers(kept, term_id, counts, rebuilt, rebuilt.counters.carriers)
    for term_id, by_priority in kept.counters._carriers_below.items():
        for priority, counts in by_priority.items():
            below = partial(rebuilt.counters.carriers_below, priority=priority)
            assert_same_carriers(kept, term_id, counts, rebuilt, below)
    for term_id, total in kept.counters._carrier_totals.items():
        known = rebuilt.counters.terms.find(kept.counters.terms.values[term_id])
        assert total == (rebuilt.counters._carrier_totals[known] if known >= 0 else 0)


def assert_same_carriers(
    kept: Cache, term_id: int, counts: NodeCounts, rebuilt: Cache, carriers: Callable[[int], NodeCounts]
) -> None:
    known = rebuilt.counters.terms.find(kept.counters.terms.values[term_id])
    if known >= 0:
        assert_same_count(kept, counts, rebuilt, carriers(known))
    else:
        assert not counts.counts(kept.nodes.count).any()


def assert_same_count(kept: Cache, counts: NodeCounts, rebuilt: Cache, fresh: NodeCounts) -> None:
    assert by_node(kept, counts) == by_node(rebuilt, fresh)
    for key in kept.nodes.labels._columns:
        assert by_value(kept, counts, key) == by_value(rebuilt, fresh, key)


def by_node(cache: Cache, counts: NodeCounts) -> dict[str, int]:
    found = counts.counts(cache.nodes.count)
    return {cache.nodes.names[row]: int(found[row]) for row in np.flatnonzero(found)}


def by_value(cache: Cache, counts: NodeCounts, key: str) -> dict[str, int]:
    column = cache.nodes.labels.column(key)
    sums = counts.by_domain(column).tolist()
    assert len(sums) == column.domains + 1
    assert sums[-1] == 0
    return {value: total for value, total in zip(column.values.values, sums, strict=False) if total}


# The tests.

QUICK = settings(max_examples=50, deadline=None, report_multiple_bugs=False)
LONG = settings(QUICK, max_examples=300)

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


@QUICK
@given(SEQUENCES | PREEMPTING_SEQUENCES)
def test_little_is_kept(steps: list[Step]) -> None:
    """The same where logs are short, standings are forgotten soon, and victims are looked for in the whole table."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes, "LOG_LENGTH_MAX", 4)
        patched.setattr(deciding, "STANDINGS_BYTES_MAX", 2_000)
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
@given(RELABELLING_SEQUENCES)
@example(TAINTED_AND_FULL)
@example(OPENED)
@example(NEW_IMAGE)
@example(GROWN_NODE)
def test_a_changed_node_is_followed(steps: list[Step]) -> None:
    """The same where node objects change all the time."""
    play(steps)


@pytest.mark.usefixtures("either_way")
@QUICK
@given(SCALING_SEQUENCES)
def test_nodes_that_join_and_leave_are_followed(steps: list[Step]) -> None:
    play(steps)


@pytest.mark.usefixtures("either_way")
@QUICK
@given(SEQUENCES | RELABELLING_SEQUENCES | SCALING_SEQUENCES)
@example(TAINTED_AND_FULL)
@example(OPENED)
def test_what_is_meant_for_many_nodes_is_right_for_few(steps: list[Step]) -> None:
    """The same with blocks of two nodes, array code for every number of rows, no table of scores, shared domains."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranking, "BLOCK_BITS", 1)
        patched.setattr(standing, "FEW_ROWS", 0)
        patched.setattr(scales, "TABLE_LENGTH_MAX", 0)
        patched.setattr(levels, "FEW_ROWS", 0)
        patched.setattr(levels, "DENSE", 0)
        patched.setattr(spread_scoring, "FEW_HELD", 0)
        patched.setattr(spread_grouping, "NODES_PER_GROUP", 0)
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


@pytest.mark.slow
@LONG
@given(PREEMPTING_SEQUENCES)
def test_preempting_with_an_eye_on_others_changes_nothing_at_length(steps: list[Step]) -> None:
    """The same, with many more sequences."""
    play(steps, rebuilds=False)


@pytest.mark.slow
@LONG
@given(SEQUENCES)
def test_reuse_changes_nothing_at_length(steps: list[Step]) -> None:
    """The same, with many more sequences."""
    play(steps, rebuilds=False)


@pytest.mark.slow
@LONG
@given(RELABELLING_SEQUENCES)
def test_a_changed_node_is_followed_at_length(steps: list[Step]) -> None:
    """The same where node objects change all the time, with many more sequences."""
    play(steps, rebuilds=False)


@pytest.mark.slow
@LONG
@given(WAITING_SEQUENCES)
def test_trying_again_in_vain_changes_nothing_at_length(steps: list[Step]) -> None:
    """The same for pods that fit nowhere, with many more sequences."""
    play(steps, rebuilds=False)


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
