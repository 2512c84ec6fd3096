"""The list of pending pods, in words."""

from __future__ import annotations

import pytest

from bayplan.analysis.answers.pending import PendingGroup, PendingPods
from bayplan.report.answers.pending import pending_parts
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered


def shown(*groups: PendingGroup, namespace: str = "", selector: str = "", details: bool = False) -> str:
    return rendered(terminal_parts(pending_parts(PendingPods(groups, namespace, selector)), details=details))


def test_none() -> None:
    assert shown() == "No pod is pending.\n"
    assert shown(namespace="shop", selector="app=x") == "No pod is pending in namespace shop with labels app=x.\n"


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (PendingGroup("d/x", ("d/x",), 0, gate="waiting for gates"), "waiting for gates"),
        (PendingGroup("d/x", ("d/x",), 0, fits_on=3), "fits on 3 nodes now"),
        (PendingGroup("d/x", ("d/x",), 0, node="n", victims=("a",)), "would evict a from n"),
        (PendingGroup("d/x", ("d/x",), 0, node="n", victims=("a", "b", "c")), "would evict 3 pods from n"),
        (PendingGroup("d/x", ("d/x",), 0, causes=((2, "cordoned"),)), "2 nodes: cordoned"),
        (
            PendingGroup("d/x", ("d/x",), 0, causes=((5, "taint k"), (2, "cordoned"), (1, "port 80"))),
            "5 nodes: taint k; 2 other causes",
        ),
        (PendingGroup("d/x", ("d/x",), 0, message="no nodes available"), "no nodes available"),
    ],
)
def test_one_line_of_why(group: PendingGroup, why: str) -> None:
    lines = shown(group).splitlines()
    assert lines[0] == "1 pod of 1 workload is pending."
    assert lines[3].split(maxsplit=3)[-1] == why
    assert lines[4] == "Next: bayplan explain d/x"


def test_many_are_shown_in_part_and_the_details_have_all() -> None:
    groups = [PendingGroup(f"d/{number}", (f"d/{number}",), 0, message="why") for number in range(20)]
    text = shown(*groups)
    assert "d/4" in text
    assert "d/5" not in text
    assert "and 15 more pods" in text
    assert "d/19" in shown(*groups, details=True)


def test_long_names_fit_on_a_screen_of_24_lines() -> None:
    names = tuple(f"batch/batch-{number}-32173329-2-b5eba" for number in range(7))
    groups = [
        PendingGroup(
            f"payments/deployment/checkout-{n}", names, 1_000_000, node="ip-10-0-18-18.general.internal", victims=names
        )
        for n in range(11)
    ]
    parts = terminal_parts(pending_parts(PendingPods(tuple(groups), "", "")), details=False)
    assert len(rendered(parts, width=80).splitlines()) <= 24
