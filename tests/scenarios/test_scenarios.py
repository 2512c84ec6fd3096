"""Every scenario in this folder goes as it is written down.

`make update` writes down how they go now; the difference is for a reader to judge.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.scenarios.scenario import rewritten

SCENARIOS = sorted(Path(__file__).parent.glob("*.txt"))
UPDATE = "BAYPLAN_UPDATE"


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 25


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_goes_as_written(path: Path) -> None:
    written = path.read_text()
    went = rewritten(written)
    if os.environ.get(UPDATE):
        path.write_text(went)
    else:
        assert went == written, f"run `make update` and look at the difference of {path.name}"
