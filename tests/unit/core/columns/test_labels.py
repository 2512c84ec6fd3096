"""LabelColumn: whether every domain is a single node."""

from __future__ import annotations

import pytest

from bayplan.core.columns.labels import NodeLabels


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], True, id="nobody-has-it"),
        pytest.param([(0, "a"), (1, "b"), (2, None)], True, id="all-different"),
        pytest.param([(0, "a"), (1, "a")], False, id="shared"),
        pytest.param([(0, "a"), (1, "a"), (2, "a"), (2, None)], False, id="still-shared"),
        pytest.param([(0, "a"), (1, "a"), (1, None)], True, id="one-lost-it"),
        pytest.param([(0, "a"), (1, "a"), (0, "b")], True, id="one-changed"),
        pytest.param([(0, "a"), (0, "a")], True, id="set-again"),
    ],
)
@pytest.mark.parametrize("asked_first", [True, False], ids=["kept-up-to-date", "built-on-demand"])
def test_is_unique(steps: list[tuple[int, str | None]], expected: bool, asked_first: bool) -> None:
    """It follows labels as they come, change and go."""
    labels = NodeLabels()
    if asked_first:
        labels.column("host")
    for row, value in steps:
        labels.set(row, {} if value is None else {"host": value})
    assert labels.column("host").is_unique is expected
