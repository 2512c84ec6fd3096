"""A sweep in words and tables."""

from __future__ import annotations

import pytest

from bayplan.analysis.sweeping.summary_format import (
    AxisSummary,
    Estimate,
    FailedRun,
    MeanDifference,
    PointSummary,
    SweepSummary,
)
from bayplan.report.answers.markdown import markdown
from bayplan.report.sweep.parts import number_text, sweep_parts

AXES = [AxisSummary("weight.A", [1, 2]), AxisSummary("args.A.x", ["p"])]


def point(weight: int, mean: float, difference: MeanDifference | None = None) -> PointSummary:
    apart = {} if difference is None else {"waiting.high.p99": difference}
    figures = {"waiting.high.p99": Estimate(mean, mean - 1, mean + 1, 6)}
    return PointSummary({"weight.A": weight, "args.A.x": "p"}, 6, 0, figures, apart, None)


def written(*, real: bool, seeds: int = 6, failures: int = 0, measures: tuple[str, ...] = ("waiting.high.p99",)) -> str:
    failed = [FailedRun("r", {"weight.A": 2, "args.A.x": "p"}, seed, f"bad {seed}") for seed in range(failures)]
    points = [point(1, 10), point(2, 75, MeanDifference(65, 60, 70, 6, 0.03, real))]
    summary = SweepSummary(AXES, list(range(seeds)), 12, failures, 0, 0.95, 0, [*measures], points, [], failed)
    return markdown("sweep", sweep_parts(summary))


def test_real_differences_are_the_answer() -> None:
    text = written(real=True)
    assert "1 of 1 point differ from the baseline in more than chance: waiting.high.p99." in text
    assert "difference to A weight 1, x p" in text
    assert "+1 min 5 s \\*" in text
    assert "1 min to 1 min 10 s" in text


def test_real_differences_beside_the_table_are_named() -> None:
    text = written(real=True, measures=("pods.placed",))
    assert "more than chance: waiting.high.p99, which are not in the table." in text


def test_next_to_nothing_has_no_sign() -> None:
    points = [point(1, 10), point(2, 10, MeanDifference(0.0003, -0.0001, 0.0004, 6, 0.5, False))]
    summary = SweepSummary(AXES, list(range(6)), 12, 0, 0, 0.95, 0, ["waiting.high.p99"], points, [], [])
    assert "| 0 s | 0 s to 0 s |" in markdown("sweep", sweep_parts(summary))


def test_chance_is_called_chance() -> None:
    text = written(real=False)
    assert "No difference to the baseline is more than chance." in text
    assert "\\*" not in text.replace("**", "")


def test_too_few_seeds_are_told() -> None:
    assert "With 5 seeds no difference can be told from chance: use 6 or more." in written(real=False, seeds=5)
    assert "told from chance" not in written(real=False)


def test_failures_are_listed_with_their_seeds_and_cut() -> None:
    text = written(real=False, failures=12)
    assert "12 failed runs" in text
    assert "| 3 | bad 3 |" in text
    assert "and 2 more" in text


@pytest.mark.parametrize(
    ("measure", "value", "text"),
    [
        ("waiting.high.p99", 90, "1 min 30 s"),
        ("waiting.high.p99", -0.25, "-250 ms"),
        ("waiting.high.p99", -0.0004, "0 s"),
        ("waiting.high.count", 90, "90"),
        ("utilization.cpu", 0.123, "12.3%"),
        ("pods.placed", 3.25, "3.25"),
        ("pods.placed", 12345.6, "12,346"),
    ],
)
def test_numbers_are_in_the_unit_of_their_figure(measure: str, value: float, text: str) -> None:
    assert number_text(measure, value) == text


def found(pending: float, *objectives: str) -> str:
    """What a search is said to have found, if so many pods still wait at its best point."""
    best = point(2, 5)
    best.figures["pods.pending"] = Estimate(pending, pending, pending, 6)
    points = [point(1, 10), best]
    summary = SweepSummary(
        AXES, list(range(6)), 12, 0, 0, 0.95, 0, ["pods.pending"], points, [], [], [*objectives], front=[1]
    )
    text = markdown("sweep", sweep_parts(summary))
    return text[: text.index("Mean over seeds")]


def test_what_a_search_has_found_comes_first() -> None:
    text = found(0, "waiting.high.p99")
    assert "The best point" in text
    assert "| A weight 2, x p | 5 s |" in text
    assert "never got a node" not in text


def test_a_search_that_leaves_pods_waiting_says_so() -> None:
    text = found(3, "waiting.high.p99")
    assert "Some pods never got a node, and count in no waiting figure" in text
    assert "| A weight 2, x p | 5 s | 3 |" in text


@pytest.mark.parametrize("objectives", [["nodeHours"], ["waiting.high.p99", "pods.pending"]])
def test_pods_left_waiting_are_no_surprise_where_nothing_hides_them(objectives: list[str]) -> None:
    assert "never got a node" not in found(3, *objectives)
