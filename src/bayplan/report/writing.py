"""The HTML report of whatever was simulated: one run, several compared, or a sweep."""

from __future__ import annotations

from pathlib import Path

from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.report.comparison.page import comparison_page
from bayplan.report.html_page import write_page
from bayplan.report.simulation.page import run_page
from bayplan.report.sweep.page import sweep_page


def write_report(outcome: SimulationResult | ComparedRuns | SweepResult, path: str | Path) -> None:
    """Write the page to a file."""
    match outcome:
        case SimulationResult():
            page = run_page(outcome.run)
        case SweepResult():
            page = sweep_page(outcome.summary, outcome.worst_run())
        case _:
            page = comparison_page(outcome)
    write_page(page, path)
