"""Decisions follow every object that plugins look up, as it comes, changes and goes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from tests.oracle.changing_clusters import CHANGES, PATTERNS, Step
from tests.oracle.changing_objects import FAMILIES, MAKERS
from tests.oracle.changing_sequences import AGAIN, DECIDE, DRAWN_KINDS, FURNISHING_SEQUENCES, RETRY
from tests.oracle.comparing_decisions import play
from tests.support.examples import examples

from bayplan.core.snapshot import _PLACES
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from bayplan.model.workloads import StatefulSet

QUICK = examples(60, deadline=None, report_multiple_bugs=False)

#: A pod on a node names a resource, then one that waits names another, and then a pod leaves.
NAMED_BY_ONE_THAT_WAITS: list[Step] = [("run", 35, 0, 0), ("mention", 0, 1, 3), ("remove", 0, 0, 0), ("run", 0, 0, 0)]


def between_equal_questions(kind: type[Object], *makings: tuple[int, int]) -> list[Step]:
    """Objects of the kind come or change, each between two decisions on equal pods that depend on them."""
    number = next(number for number, family in enumerate(FAMILIES) if kind in family.makers)
    asked = PATTERNS.index(FAMILIES[number].patterns[0])
    steps: list[Step] = [("furnish", number, 0, 0), (DECIDE, asked, 0, 1), *[(AGAIN, 0, 0, 1)] * 3]
    for which, like in makings:
        steps += [("put", list(MAKERS).index(kind), which, like), (AGAIN, 0, 0, 1)]
    return steps


@pytest.mark.usefixtures("either_way")
@QUICK
@given(FURNISHING_SEQUENCES)
@example(NAMED_BY_ONE_THAT_WAITS)
@example(between_equal_questions(StatefulSet, (0, 0), (0, 3), (0, 1)))
@example(between_equal_questions(ResourceClaim, (0, 1), (1, 1), (0, 2)))
@example(between_equal_questions(ResourceSlice, (1, 1), (1, 5), (4, 2)))
@example(between_equal_questions(DeviceClass, (0, 1), (0, 0), (1, 0)))
def test_objects_that_come_change_and_go_are_followed(steps: list[Step]) -> None:
    play(steps)


def test_every_kind_that_plugins_look_up_is_drawn() -> None:
    assert set(MAKERS) | {PodGroup} == set(_PLACES)  # which no plugin looks up


def test_every_kind_of_step_is_drawn() -> None:
    assert {DECIDE, AGAIN, RETRY, *CHANGES} == DRAWN_KINDS
