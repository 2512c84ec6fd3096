"""How far nodes are from having enough, in sentences."""

from __future__ import annotations

import pytest

from bayplan.analysis.written import written_amount
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.shortages import shortage_parts
from bayplan.report.terminal import rendered


@pytest.mark.parametrize(
    ("asked", "offered", "rest"),
    [
        (3000, 4000, "the most free on these nodes is 1500m, on a"),
        (3000, 2000, "even when empty, these nodes have at most 2"),
        (3000, 0, "these nodes have none"),
    ],
)
def test_what_to_do_about_it_differs(asked: int, offered: int, rest: str) -> None:
    shortage = {"resource": "cpu", "asked": asked, "mostFree": 1500, "mostFreeOn": "a", "mostOffered": offered}
    assert rendered(terminal_parts(shortage_parts([shortage]))) == f"cpu: the pod requests 3; {rest}.\n"


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 1500, "1500m"),
        ("memory", 8 << 30, "8Gi"),
        ("memory", 1536 << 20, "1.5Gi"),
        ("memory", 100, "100"),
        ("memory", 20_000 << 40, "19.53Pi"),
        ("memory", 7 << 60, "7Ei"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 2048, "2048"),
    ],
)
def test_amounts_as_in_a_manifest(resource: str, amount: int, text: str) -> None:
    assert written_amount(resource, amount) == text
