"""The table of upstream's tests on pod groups names what exists here."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TABLE = FOLDER / "upstream_pod_groups.md"
ROOT = FOLDER.parents[1]


def rows() -> list[list[str]]:
    """The cells of all rows of cases."""
    cases, _, _ = TABLE.read_text(encoding="utf-8").partition("## What does not apply")
    cells = [line.strip("|").split(" | ") for line in cases.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in cells if row[0].strip() not in ("Case", "---")]


ROWS = rows()


def test_every_case_is_there_once_and_is_played() -> None:
    played = [(case, here) for case, here, *_ in ROWS]
    assert all(here for _, here in played)
    assert len({case for case, _ in played if not case.startswith("(")}) == 110
    assert len(played) == 116


@pytest.mark.parametrize("here", sorted({name for row in ROWS for name in row[1].split(", ")}))
def test_what_plays_it_exists(here: str) -> None:
    if not here.startswith("`"):
        assert (FOLDER / f"{here}.txt").is_file()
        return
    path, _, name = here.strip("`").partition("::")
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_scenarios_of_pod_groups_that_come_from_no_upstream_test_are_known() -> None:
    """Whoever writes another one looks into the table first."""
    ours = {path.stem for path in FOLDER.glob("*.txt") if "\ngroups" in path.read_text(encoding="utf-8")}
    assert ours - {name for row in ROWS for name in row[1].split(", ")} == {
        "a_gang_with_volumes",
        "a_gang_woken_early",
        "a_group_on_a_node_that_is_gone",
        "a_nominated_gang_keeps_its_nodes",
    }
