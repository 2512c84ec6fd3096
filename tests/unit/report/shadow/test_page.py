"""What the shadow found out, as text, as a page and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.shadow.page import shadow_page, write_shadow_report
from bayplan.report.shadow.parts import answer, shadow_parts
from bayplan.report.terminal import rendered
from bayplan.worlds.shadow_findings import (
    Agreement,
    Findings,
    MessageDifference,
    PlacementDifference,
    PreemptionDifference,
)


def findings(placements: int = 1) -> Findings:
    found = Findings("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", 20)
    found.placements[Agreement.SAME] = 7
    found.placements[Agreement.TIED] = 2
    for number in range(placements):
        found.placed(
            PlacementDifference(
                at="t", pod=f"default/p{number}", agreement=Agreement.DIFFERENT, ours="a", theirs="b", why="<scores>"
            )
        )
    found.preempted(
        PreemptionDifference(
            at="t",
            pod="default/q",
            agreement=Agreement.ONLY_OURS,
            our_node="a",
            our_victims=("default/v", "default/w"),
            their_node="",
            their_victims=(),
        )
    )
    found.said(MessageDifference(at="t", pod="default/r", agreement=Agreement.DIFFERENT, ours="", theirs="0/1 nodes."))
    return found


def test_the_answer_counts_what_chance_decides_as_agreement() -> None:
    assert answer(findings().to_dict()) == "bayplan agrees with 9 of 10 placements (90.0%)."


def test_nothing_was_seen() -> None:
    assert answer(Findings(decisions=3).to_dict()) == (
        "Nothing to compare yet: no pod was seen to get a node (3 decisions)."
    )


def test_pods_that_only_we_would_place_count_against_it() -> None:
    found = findings(0)
    found.only_ours["uid"] = PlacementDifference(
        at="t", pod="default/p", agreement=Agreement.ONLY_OURS, ours="a", theirs=""
    )
    assert answer(found.to_dict()) == "bayplan agrees with 9 of 10 placements (90.0%)."


def test_the_text() -> None:
    lines = rendered(terminal_parts(shadow_parts(findings().to_dict()))).splitlines()
    rows = [line.split() for line in lines]
    assert ["the", "same", "7", "0", "0"] in rows
    assert ["only", "bayplan", "0", "1", "0"] in rows
    assert ["default/p0", "a", "b", "<scores>"] in rows
    assert "default/q   default/v, default/w from a   none" in lines
    assert "default/r   (nothing yet)   0/1 nodes." in lines


def test_long_tables_are_cut() -> None:
    text = rendered(terminal_parts(shadow_parts(findings(11).to_dict())))
    assert "The latest 10 are shown." in text
    assert "default/p10" in text
    assert "default/p0 " not in text


def test_the_page_escapes_what_it_shows() -> None:
    page = shadow_page(findings().to_dict())
    assert "&lt;scores&gt;" in page
    assert "<scores>" not in page
    assert "{{" not in page


@pytest.mark.parametrize("name", ["report.json", "report.html"])
def test_the_name_decides_what_is_written(tmp_path: Path, name: str) -> None:
    path, found = tmp_path / name, findings().to_dict()
    write_shadow_report(found, path)
    if name.endswith(".json"):
        assert json.loads(path.read_text()) == json.loads(json.dumps(found))
    else:
        assert path.read_text() == shadow_page(found)
