"""The HTML report of whatever was simulated: one run, or several compared."""

from __future__ import annotations

from pathlib import Path

from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.report.comparison.page import comparison_page
from bayplan.report.html_page import write_page
from bayplan.report.simulation.page import run_page


def write_report(outcome: SimulationResult | ComparedRuns, path: str | Path) -> None:
    """Write the page to a file."""
    write_page(run_page(outcome.run) if isinstance(outcome, SimulationResult) else comparison_page(outcome), path)
