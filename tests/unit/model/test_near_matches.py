"""Which names count as a misspelling of which."""

from __future__ import annotations

import pytest

from bayplan.model.near_matches import did_you_mean, meant, meant_pair, near


@pytest.mark.parametrize(
    ("written", "existing", "expected"),
    [
        ("generall", ["general", "gpu"], ["general"]),
        ("Generall", ["general"], ["general"]),
        ("general", ["GENERAL"], ["GENERAL"]),
        ("wbe", ["web", "db"], ["web"]),
        ("bd", ["db"], []),
        ("spot", ["general"], []),
        ("node-77", ["node-7", "node-1", "node-2"], ["node-7"]),
    ],
)
def test_names_that_are_alike(written: str, existing: list[str], expected: list[str]) -> None:
    assert near(written, existing) == expected


def test_no_more_than_three() -> None:
    assert len(near("node-10", [f"node-10{number}" for number in range(9)])) == 3


def test_the_end_of_a_message() -> None:
    assert did_you_mean(["a", "b"]) == "; did you mean a or b?"
    assert did_you_mean([]) == ""


def test_a_name_that_exists_was_meant() -> None:
    assert meant("web", ["web", "webs"]) is None


def test_another_value_or_another_key() -> None:
    labels = [("pool", "general"), ("zone", "a")]
    assert meant_pair("pool", "generall", labels) == ("pool", "general")
    assert meant_pair("pol", "general", labels) == ("pool", "general")
    assert meant_pair("pool", "general", labels) is None
    assert meant_pair("disk", "ssd", labels) is None
