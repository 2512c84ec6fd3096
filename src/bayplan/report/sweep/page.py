"""A sweep as one HTML file that works offline: the answer, response curves, waits, two figures against each other, a
heat map, all tables, and the worst run with its story.

Takes the summary and, if it is known, the worst run. The same data gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import Run
from bayplan.analysis.sweeping.design import MORE
from bayplan.analysis.sweeping.statistics import pareto_front
from bayplan.analysis.sweeping.summary_format import Effect, SweepSummary
from bayplan.report.answers.html import element
from bayplan.report.drawing.responses import Mark, response_figure
from bayplan.report.html_page import PAGE_ROWS_MAX, document
from bayplan.report.markup import NOTHING, joined, tag
from bayplan.report.simulation.parts import simulation_parts
from bayplan.report.sweep import parts
from bayplan.report.sweep.waits import wait_figures

_CURVES = 24
_TICK_LABELS = 8


def sweep_page(summary: SweepSummary, worst: Run | None = None) -> str:
    """The page as text."""
    head = parts.headline(summary)
    body = joined(
        tag(
            "header",
            tag("h1", "Sweep"),
            tag("p", head.text, class_="answer"),
            (element(remark) for remark in parts.remarks(summary)),
        ),
        joined(map(element, parts.front_parts(summary))),
        _section("Figures of each point", _figures(summary)),
        _section("Response of each figure to each axis", _curves(summary.effects)),
        _section("How long pods waited", wait_figures(summary)),
        _section("Two figures against each other", _trade_off(summary)),
        _section("Both axes at once", _heat_map(summary)),
        _section("What each axis does", element(parts.effect_table(summary.effects)) if summary.effects else NOTHING),
        _section("Failed runs", joined(map(element, parts.failure_parts(summary, PAGE_ROWS_MAX)))),
        _section("The worst run", _story(worst)),
    )
    return document("Sweep", body, style="plots.css")


def _section(title: str, content: Markup) -> Markup:
    return tag("section", tag("h2", title), content) if content else NOTHING


def _figures(summary: SweepSummary) -> Markup:
    name = parts.baseline_name(summary)
    said = f"Means over seeds; differences to {name}, seed by seed. A star marks those that are more than chance."
    table = element(parts.figure_table(summary, PAGE_ROWS_MAX // max(len(summary.measures), 1)))
    return joined(tag("p", said), tag("div", table, class_="figures grouped"))


def _curves(effects: Sequence[Effect]) -> Markup:
    """The strongest first; none of a figure that is the same everywhere."""
    ordered = sorted((effect for effect in effects if effect.range > 0), key=lambda effect: -effect.share)
    return joined(_curve(effect) for effect in ordered[:_CURVES])


def _curve(effect: Effect) -> Markup:
    count = len(effect.levels)
    marks = []
    for place, level in enumerate(effect.levels):
        found = level.estimate
        title = f"{effect.axis} {level.value}: {parts.estimate_text(effect.measure, found)}"
        marks.append(Mark((place + 0.5) / count, found.mean, found.low, found.high, title))
    every = -(-count // _TICK_LABELS)
    ticks = [((place + 0.5) / count, level.value) for place, level in enumerate(effect.levels) if place % every == 0]
    return response_figure(
        f"{effect.measure} by {effect.axis}", marks, ticks, lambda value: parts.number_text(effect.measure, value)
    )


def _trade_off(summary: SweepSummary) -> Markup:
    """The first two figures, those sought first; points that no other beats in both are on the Pareto front."""
    figures = [*dict.fromkeys((*parts.figures_sought(summary), *summary.measures))]
    if len(figures) < 2 or len(summary.points) < 3:
        return NOTHING
    first, second = figures[:2]
    found = [
        (point, point.figures[first], point.figures[second])
        for point in summary.points
        if first in point.figures and second in point.figures
    ]
    if len({one.mean for _, one, _ in found}) < 2:
        return NOTHING
    means = np.array([[one.mean, other.mean] for _, one, other in found])
    low, high = means[:, 0].min(), means[:, 0].max()
    more_is_better = [f"{MORE}{name}" in summary.objectives for name in (first, second)]
    front = set(pareto_front(np.where(more_is_better, -means, means)))
    marks = []
    for place, (point, one, other) in enumerate(found):
        said = f"{first} {parts.estimate_text(first, one)}, {second} {parts.estimate_text(second, other)}"
        title = f"{parts.point_name(summary, point)}: {said}"
        x = 0.03 + 0.94 * (one.mean - low) / (high - low)
        marks.append(Mark(float(x), other.mean, other.low, other.high, title, "r2" if place in front else "r0"))
    ticks = [(0.03, parts.number_text(first, float(low))), (0.97, parts.number_text(first, float(high)))]
    wanted = [
        f"{'more' if more else 'less'} of {name}" for more, name in zip(more_is_better, (first, second), strict=True)
    ]
    front_said = f"Orange: no other point has {' and '.join(wanted)} (the Pareto front)."
    return joined(
        tag("p", front_said),
        response_figure(f"{second} over {first}", marks, ticks, lambda value: parts.number_text(second, value)),
    )


def _heat_map(summary: SweepSummary) -> Markup:
    """The first figure as a table of the first two axes, for a sweep that has both."""
    if len(summary.axes) < 2 or not summary.measures:
        return NOTHING
    rows, columns = summary.axes[:2]
    if not (1 < len(rows.values) <= 20 and 1 < len(columns.values) <= 20):
        return NOTHING
    measure = summary.measures[0]
    cells: dict[tuple[object, object], list[float]] = {}
    for point in summary.points:
        if measure in point.figures:
            place = (point.settings[rows.name], point.settings[columns.name])
            cells.setdefault(place, []).append(point.figures[measure].mean)
    means = {place: float(np.mean(values)) for place, values in cells.items()}
    head = tag("tr", tag("th", f"{rows.name} \\ {columns.name}"), (tag("th", str(value)) for value in columns.values))
    body = [
        tag("tr", tag("th", str(row)), (_heat_cell(measure, means, (row, column)) for column in columns.values))
        for row in rows.values
    ]
    table = tag("table", tag("thead", head), tag("tbody", body))
    return joined(tag("p", f"{measure}, mean of all runs."), tag("div", table, class_="scroll"))


def _heat_cell(measure: str, means: dict[tuple[object, object], float], place: tuple[object, object]) -> Markup:
    if place not in means:
        return tag("td", "–")
    least, most = min(means.values()), max(means.values())
    share = (means[place] - least) / (most - least) if most > least else 0.0
    bar = tag("svg", tag("rect", width=f"{share:.2%}", height="100%"), class_="track", aria_hidden="true")
    return tag("td", parts.number_text(measure, means[place]), bar, class_="number")


def _story(worst: Run | None) -> Markup:
    return NOTHING if worst is None else joined(_elements(worst))


def _elements(run: Run) -> Iterator[Markup]:
    yield tag("p", f"Seed {run.seed}, done again for this page:")
    for part in simulation_parts(run):
        yield element(part)
