"""A sweep in short: which settings differ for sure, figures of each point, what each axis does, and what failed.

Takes a summary. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.analysis.sweeping.design import MORE
from bayplan.analysis.sweeping.summary_format import Effect, Estimate, MeanDifference, PointSummary, SweepSummary
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Table, Tone
from bayplan.report.durations import duration_text
from bayplan.report.words import counted, listed

_POINTS = 30
_FAILURES = 10
_MEASURES = 4
#: Half a millisecond: less is shown as nothing.
_SHORTEST_S = 0.0005
_PENDING = "pods.pending"
_SEEDS_MIN = 6  # with fewer, no test can tell a difference from chance


def sweep_parts(summary: SweepSummary) -> Iterator[Part]:
    """The answer comes first."""
    yield headline(summary)
    yield from remarks(summary)
    yield from front_parts(summary)
    yield Heading(f"Mean over seeds with {summary.confidence:.0%} interval, and difference to {baseline_name(summary)}")
    yield figure_table(summary, _POINTS)
    if len(summary.points) > _POINTS:
        yield Sentence(f"and {len(summary.points) - _POINTS:,} more points; -o json shows all.", Tone.FAINT)
    if summary.effects:
        yield Heading("What each axis does, averaged over all others")
        yield effect_table(summary.effects)
    yield from failure_parts(summary, _FAILURES)


def headline(summary: SweepSummary) -> Sentence:
    """Which differences are real, in one sentence."""
    runs = f"{counted(summary.runs, 'run')}: {counted(len(summary.points), 'point')}, "
    runs += counted(len(summary.seeds), "seed")
    real = [point for point in summary.points if any(found.real for found in point.differences.values())]
    if summary.failed == summary.runs:
        return Sentence(f"{runs}. All failed.", Tone.BAD)
    if not real:
        return Sentence(f"{runs}. No difference to the baseline is more than chance.")
    figures = {name: None for point in real for name, found in point.differences.items() if found.real}
    shown = [measure for measure in summary.measures if measure in figures]
    in_what = listed(shown or [*figures], _MEASURES) + ("" if shown else ", which are not in the table")
    of = f"{len(real):,} of {counted(len(summary.points) - 1, 'point')}"
    return Sentence(f"{runs}. {of} differ from the baseline in more than chance: {in_what}.")


def remarks(summary: SweepSummary) -> Iterator[Part]:
    if summary.missing:
        yield Sentence(f"{counted(summary.missing, 'run')} not done yet: --resume does them.", Tone.WARN)
    if summary.failed:
        yield Sentence(f"{counted(summary.failed, 'run')} failed; see below.", Tone.WARN)
    if len(summary.points) > 1 and len(summary.seeds) < _SEEDS_MIN:
        seeds = f"With {counted(len(summary.seeds), 'seed')} no difference can be told from chance"
        yield Sentence(f"{seeds}: use {_SEEDS_MIN} or more.", Tone.WARN)


def point_name(summary: SweepSummary, point: PointSummary) -> str:
    """The values in which points differ."""
    if not point.settings:
        return "all runs"
    short = {axis.name: _short_name(axis.name) for axis in summary.axes}
    names = short if len(set(short.values())) == len(short) else {name: name for name in short}
    return ", ".join(f"{names[name]} {value}" for name, value in point.settings.items())


def _short_name(axis: str) -> str:
    last = axis.rpartition(".")[2]
    return f"{last} weight" if axis.startswith("weight.") else last


def baseline_name(summary: SweepSummary) -> str:
    return point_name(summary, summary.points[summary.baseline])


def figure_table(summary: SweepSummary, at_most: int) -> Table:
    """Points below each other for each figure; differences that are more than chance stand out."""
    columns = ("figure", "point", "mean", "interval", "difference", "its interval")
    rows: list[list[str | Cell]] = [
        [measure if place == 0 else "", point_name(summary, point), *_figure_cells(measure, point)]
        for measure in summary.measures
        for place, point in enumerate(summary.points[:at_most])
    ]
    return Table(columns, rows, frozenset(columns[2:]), frozenset({"figure", "point"}))


def _figure_cells(measure: str, point: PointSummary) -> list[Cell]:
    found, difference = point.figures.get(measure), point.differences.get(measure)
    cells = [Cell(text) for text in _texts(measure, found)]
    if difference is None:
        return [*cells, Cell(""), Cell("")]
    tone = Tone.WARN if difference.real else Tone.FAINT
    mean, interval = _texts(measure, difference)
    sign = "+" if difference.mean > 0 and mean != number_text(measure, 0.0) else ""
    return [*cells, Cell(f"{sign}{mean}{' *' if difference.real else ''}", tone), Cell(interval, tone)]


def _texts(measure: str, found: Estimate | MeanDifference | None) -> tuple[str, str]:
    if found is None:
        return "–", ""
    interval = f"{number_text(measure, found.low)} to {number_text(measure, found.high)}"
    return number_text(measure, found.mean), "" if found.low == found.high else interval


def estimate_text(measure: str, found: Estimate) -> str:
    """A mean with its interval."""
    numbers = [number_text(measure, value) for value in (found.mean, found.low, found.high)]
    return f"{numbers[0]} ({numbers[1]} to {numbers[2]})"


def effect_table(effects: Sequence[Effect]) -> Table:
    """The largest first, for each figure."""
    ordered = sorted(effects, key=lambda effect: (effect.measure, -effect.share))
    rows = [
        [
            effect.measure,
            effect.axis,
            ", ".join(f"{level.value}: {number_text(effect.measure, level.estimate.mean)}" for level in effect.levels),
            f"{effect.share:.0%}",
        ]
        for effect in ordered
    ]
    columns = ("figure", "axis", "mean by value", "share of variance")
    return Table(columns, rows, frozenset({columns[-1]}), frozenset(columns[:3]))


def front_parts(summary: SweepSummary) -> Iterator[Part]:
    """What a search has found."""
    if not summary.front:
        return
    found = [summary.points[place] for place in summary.front]
    several = len(summary.objectives) > 1
    yield Heading("Points that no other beats in all objectives" if several else "The best point")
    figures, columns = figures_sought(summary), [*summary.objectives]
    if _leaves_pods_waiting(figures, found):
        said = "Some pods never got a node, and count in no waiting figure: make pods.pending an objective, too."
        yield Sentence(said, Tone.WARN)
        figures.append(_PENDING)
        columns.append(_PENDING)
    rows = [
        [point_name(summary, point), *(_texts(name, point.figures.get(name))[0] for name in figures)] for point in found
    ]
    yield Table(("point", *columns), rows, frozenset(columns), frozenset({"point"}))


def _leaves_pods_waiting(figures: Sequence[str], found: Sequence[PointSummary]) -> bool:
    """Whether the points may be best only because pods that wait forever are not counted."""
    if _PENDING in figures or not any(name.startswith("waiting.") for name in figures):
        return False
    return any(_PENDING in point.figures and point.figures[_PENDING].mean > 0 for point in found)


def figures_sought(summary: SweepSummary) -> list[str]:
    """The objectives of a search, whichever way they are to go."""
    return [objective.removeprefix(MORE) for objective in summary.objectives]


def failure_parts(summary: SweepSummary, at_most: int) -> Iterator[Part]:
    if not summary.failures:
        return
    yield Heading(counted(len(summary.failures), "failed run"))
    rows = [
        [", ".join(f"{name} {value}" for name, value in failure.settings.items()), str(failure.seed), failure.error]
        for failure in summary.failures[:at_most]
    ]
    yield Table(("point", "seed", "error"), rows, frozenset({"seed"}), frozenset({"point", "error"}))
    if len(summary.failures) > at_most:
        yield Sentence(f"and {len(summary.failures) - at_most:,} more; -o json shows all.", Tone.FAINT)


def number_text(measure: str, value: float) -> str:
    """In the unit of the figure."""
    if measure.startswith("waiting.") and not measure.endswith(".count"):
        if abs(value) < _SHORTEST_S:
            return duration_text(0.0)
        return f"-{duration_text(-value)}" if value < 0 else duration_text(value)
    if measure.startswith(("utilization.", "fragmentation.")):
        return f"{value:.1%}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
