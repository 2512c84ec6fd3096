"""The table view of a placement."""

from __future__ import annotations

import pytest

from bayplan.analysis.placement import PlacedPod, Placement
from bayplan.report.answers.placement import placement_parts, summary
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered

PLACED = PlacedPod("d/a", "n1", 350, ("n1", "n2"))
PREEMPTOR = PlacedPod("d/b", "n2", None, ("n2",), ("d/x", "d/y"))
UNPLACED = PlacedPod("d/c", None, None, message="0/2 nodes are available: 2 Insufficient cpu.")


def shown(placement: Placement) -> str:
    return rendered(terminal_parts(placement_parts(placement)))


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ((), "There are no pods to place."),
        ((PLACED,), "1 pod placed on 1 node."),
        ((PLACED, PREEMPTOR), "All 2 pods placed on 2 nodes, 1 of them by evicting 2 pods."),
        ((PLACED, UNPLACED), "1 of 2 pods placed on 1 node; 1 pod remains unplaced."),
        ((UNPLACED, UNPLACED), "0 of 2 pods placed; 2 pods remain unplaced."),
        (
            (PLACED, PlacedPod("d/e", None, None, victims=("d/x",))),
            "1 of 2 pods placed on 1 node; 1 pod remains unplaced, and 1 pod was evicted in vain.",
        ),
    ],
)
def test_summary(decisions: tuple[PlacedPod, ...], text: str) -> None:
    assert summary(Placement(decisions)) == text


def test_a_row_for_each_pod() -> None:
    lines = shown(Placement((PLACED, PREEMPTOR, UNPLACED))).splitlines()
    assert [line.split() for line in lines[3:6]] == [
        ["d/a", "n1", "350", "2"],
        ["d/b", "n2", "d/x,", "d/y"],
        ["d/c", "none"],
    ]


def test_unplaced_pods_are_grouped_by_message() -> None:
    other = PlacedPod("d/d", None, None, message="another reason")
    again = PlacedPod("d/e", None, None, message=UNPLACED.message)
    text = shown(Placement((other, UNPLACED, again)))
    assert text.endswith(f"\nUnplaced: d/c and d/e\n{UNPLACED.message}\n\nUnplaced: d/d\nanother reason\n"), (
        "the larger group comes first"
    )
