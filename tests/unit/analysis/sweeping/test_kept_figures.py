"""Outcomes that are kept are equal to those that came, and small."""

from __future__ import annotations

import pickle
import tracemalloc

from bayplan.analysis.sweeping.kept_figures import kept
from bayplan.analysis.sweeping.runs import RunOutcome

FIGURES = {f"figure.number{number}": number / 3 for number in range(40)}


def test_nothing_is_lost() -> None:
    for figures in (FIGURES, {"a": 1.0}, {}):
        outcome = RunOutcome("r", "", "d", False, figures)
        found = kept(outcome)
        assert found == outcome
        assert dict(found.figures) == figures
        assert found.figures.get("missing") is None
        assert pickle.loads(pickle.dumps(found)) == outcome


def test_a_run_more_takes_little_memory() -> None:
    arriving = [pickle.dumps(RunOutcome(f"r{number}", "", "d", False, FIGURES)) for number in range(500)]
    tracemalloc.start()
    try:
        outcomes = [kept(pickle.loads(each)) for each in arriving]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(outcomes) == 500
    assert used / 500 < 1_000
