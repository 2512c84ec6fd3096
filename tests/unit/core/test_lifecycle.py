"""The table of states: complete, and refusing what it does not list."""

from __future__ import annotations

from itertools import product

import pytest

from bayplan.core.lifecycle import FLYING, LEGAL_MOVES, PLACES, PodState, assert_move


def test_every_state_has_its_row() -> None:
    assert list(LEGAL_MOVES) == list(PodState)


def test_every_state_can_be_reached_and_left_for_good() -> None:
    """From NEW one can get anywhere, and from anywhere to GONE."""
    for start in PodState:
        reached, frontier = {start}, [start]
        while frontier:
            for after in LEGAL_MOVES[frontier.pop()]:
                if after not in reached:
                    reached.add(after)
                    frontier.append(after)
        assert PodState.GONE in reached
        if start is PodState.NEW:
            assert reached == set(PodState)


@pytest.mark.parametrize(("before", "after"), list(product(PodState, PodState)))
def test_moves_are_refused_unless_listed(before: PodState, after: PodState) -> None:
    if before is after or after in LEGAL_MOVES[before]:
        assert_move(before, after)
    else:
        with pytest.raises(AssertionError, match=f"from {before.value} to {after.value}"):
            assert_move(before, after)


def test_a_pod_whose_happenings_are_no_longer_recorded_cannot_be_parked() -> None:
    assert PodState.UNSCHEDULABLE not in LEGAL_MOVES[PodState.BINDING]
    assert all(PodState.UNSCHEDULABLE in LEGAL_MOVES[state] for state in FLYING)


def test_active_pods_are_only_tried_or_gone_unless_their_group_is_moved() -> None:
    with_their_group = (PodState.GATED, PodState.INCOMPLETE)
    assert LEGAL_MOVES[PodState.ACTIVE] == (PodState.IN_FLIGHT, *with_their_group, PodState.GONE)
    assert all(PodState.GONE in LEGAL_MOVES[place] for place in PLACES)
