"""A run over time and its waiting times, as figures for plotly: plain data, nothing is drawn here.

    over_time   utilization, queue lengths and victims, one above the other on one time axis
    waiting     p50, p90, p99 and longest wait for each priority class
    who_evicted how many pods of which class were evicted by which class

`banded`, `wait_traces` and `waits_figure` serve the comparison of runs, too. Text of users is escaped, because plotly
interprets some HTML in labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from bayplan.analysis.simulation.results.run_format import End
from bayplan.report.durations import duration_text
from bayplan.report.simulation.view import ALARM, PALETTE, SimulationView
from bayplan.report.words import counted

Figure = dict[str, Any]
GRID = "#E3E6EA"
INK = "#1F2933"
_POINTS_MAX = 1_200
_BARS = 120
_BAND = 150  # pixels for each of the stacked plots
_GAP = 0.3  # of a band, for its title
_SHORTEST_WAIT = 0.01  # seconds; a logarithmic axis has no zero
_WAIT_TICKS = (0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000)
_QUEUE_COLOURS = {"active": "#56B4E9", "backoff": "#E69F00", "unschedulable": ALARM, "gated": "#999999"}
DASHES = ("solid", "dash", "dot", "dashdot")
#: In the order of `Waits.quantiles`: the name, the symbol and its size.
_QUANTILE_MARKS = (
    ("median", "circle", 11),
    ("p90", "diamond", 12),
    ("p99", "square", 10),
    ("longest", "line-ns-open", 16),
)


def layout(height: int, **more: Any) -> Figure:
    """What all figures share."""
    return {
        "height": height,
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": "#FFFFFF",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "margin": {"l": 70, "r": 20, "t": 40, "b": 50},
        "hoverlabel": {"align": "left"},
    } | more


def legend(y: float = 1.02, **more: Any) -> Figure:
    """In a line above the plot."""
    return {"orientation": "h", "x": 0, "y": y, "yanchor": "bottom", **more}


def whole_run(view: SimulationView) -> Figure:
    """What a double click shows."""
    return {"wholeRun": [0, view.unit.of(view.seconds)]}


def axis(title: str = "", **more: Any) -> Figure:
    return {"title": {"text": title}, "gridcolor": GRID, "zerolinecolor": GRID, "linecolor": "#9AA5B1", **more}


def time_axis(view: SimulationView, **more: Any) -> Figure:
    """The whole run, or what comes after a long time in which hardly anything happens; the page can show the rest."""
    start, end = view.unit.of(view.shown_from), view.unit.of(view.seconds)
    return axis(f"simulated time, {view.unit.name}", range=[start, end], zeroline=False, **more)


def over_time(view: SimulationView) -> Figure:
    """Utilization above, the queue in the middle, victims below; zooming one zooms all."""
    series = view.run.series
    starts = chunk_starts(len(series.t))
    times = [view.unit.of(series.t[start]) for start in starts]
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "name": escape(resource), "x": times,
            "y": means(shares, starts), "yaxis": "y", "legend": "legend",
            "line": {"color": PALETTE[position % len(PALETTE)], "width": 2, "dash": DASHES[position % len(DASHES)]},
            "hovertemplate": "%{y:.1f} %",
        }
        for position, (resource, shares) in enumerate(_asked_for(series.used))
    ]  # fmt: skip
    data += [
        {
            "type": "scatter", "mode": "lines", "name": escape(name), "x": times, "y": maxima(lengths, starts),
            "yaxis": "y2", "legend": "legend2", "stackgroup": "queue", "hovertemplate": "%{y:,}",
            "line": {"width": 0.5, "shape": "hv", "color": _QUEUE_COLOURS.get(name, "#666666")},
        }
        for name, lengths in series.queue.items()
        if any(lengths) or name in ("active", "unschedulable")
    ]  # fmt: skip
    data.append(_victims_over_time(view))
    titles = ["utilization, %", "pods waiting", "pods preempted"]
    return banded(titles, data, time_axis(view), bargap=0, meta=whole_run(view))


def banded(titles: Sequence[str], data: list[Figure], time: Figure, **more: Any) -> Figure:
    """Plots over each other on one time axis, the first on top; `data` names the plot of each line by its y axis."""
    number = len(titles)
    height = 1 / (number + (number - 1) * _GAP)
    drawn = layout(
        90 + _BAND * number,
        hovermode="x unified",
        xaxis={**time, "anchor": f"y{number}"},
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        annotations=[],
        **more,
    )
    for band, title in enumerate(titles):
        top = 1 - band * height * (1 + _GAP)
        values = [value for line in data if line["yaxis"] == y_axis(band) for value in line["y"]]
        shares: Figure = {"range": [0, 102]}
        scale = shares if title.endswith("%") else {"rangemode": "tozero", **_whole_ticks(values, 5)}
        drawn[f"yaxis{y_axis(band)[1:]}"] = axis(domain=[max(top - height, 0), top], **scale)
        drawn[f"legend{y_axis(band)[1:]}"] = legend(top, x=1, xanchor="right")
        drawn["annotations"].append(_band_title(escape(title), top))
    return {"data": data, "layout": drawn}


def y_axis(band: int) -> str:
    return f"y{band + 1 if band else ''}"


def _band_title(text: str, top: float) -> Figure:
    """Above its band, where a narrow page has room for it."""
    return {
        "text": f"<b>{text}</b>", "showarrow": False, "xref": "paper", "x": 0, "xanchor": "left",
        "yref": "paper", "y": top, "yanchor": "bottom",
    }  # fmt: skip


def _asked_for(used: dict[str, list[float]]) -> list[tuple[str, list[float]]]:
    """Resources some pod takes; nodes may offer others, whose line would lie on the axis."""
    return [(resource, shares) for resource, shares in used.items() if any(shares)]


def _victims_over_time(view: SimulationView) -> Figure:
    edges = np.linspace(0, max(view.seconds, 1e-9), round(_BARS * view.seen_closer) + 1)
    # When they went; two preemptors may have chosen the same pod.
    at = [pod.ended for pod in view.run.pods if pod.end is End.PREEMPTED]
    counts, _ = np.histogram(np.clip(np.array(at, dtype=float), 0, edges[-1]), edges)
    width = view.unit.of(float(edges[1]))
    return {
        "type": "bar", "name": "evicted by preemption", "yaxis": "y3", "showlegend": False,
        "x": [view.unit.of(float(edge)) for edge in edges[:-1]], "y": counts.tolist(),
        "width": width, "offset": 0, "marker": {"color": ALARM}, "hovertemplate": "%{y:,}",
    }  # fmt: skip


def _whole_ticks(counts: Sequence[int], at_most: int) -> Figure:
    """There are no half pods; plotly's ticks are fine for large counts."""
    return {"dtick": 1} if max(counts, default=0) <= at_most else {"tickformat": ",d", "nticks": at_most}


def chunk_starts(count: int) -> list[int]:
    if not count:
        return []
    step = -(-count // _POINTS_MAX)
    return list(range(0, count, step))


def means(shares: Sequence[float], starts: Sequence[int]) -> list[float]:
    if not starts:
        return []
    lengths = np.diff([*starts, len(shares)])
    means = np.add.reduceat(np.asarray(shares, dtype=float), starts) / lengths
    return [round(100 * float(mean), 2) for mean in means]


def maxima(lengths: Sequence[float], starts: Sequence[int]) -> list[int]:
    """A queue that was long for a moment must not vanish between two points."""
    return [int(length) for length in np.maximum.reduceat(np.asarray(lengths), starts)] if starts else []


class WaitRow(NamedTuple):
    """The waits of a class in one run, and where they are drawn."""

    row: float
    colour: str
    label: str
    placed: int
    quantiles: Sequence[float]


def waiting(view: SimulationView) -> Figure:
    """One row for each class, the most important on top."""
    waits = {name: view.run.summary.waiting[name] for name in view.run.classes if name in view.run.summary.waiting}
    labels = [f"{escape(name)} ({view.run.classes[name]:,})" for name in waits]
    rows = [
        WaitRow(place, view.colours[name], labels[place], wait.count, wait.quantiles)
        for place, (name, wait) in enumerate(waits.items())
    ]
    return waits_figure(wait_traces(rows), labels, [wait.max for wait in waits.values()])


def wait_traces(waits: Sequence[WaitRow], run: str = "", **more: Any) -> list[Figure]:
    """For each row a line from the median to the longest wait, with marks; the legend names the run, or the marks."""
    lines: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip", **more,
            "x": [_shown_wait(wait.quantiles[0]), _shown_wait(wait.quantiles[-1])], "y": [wait.row] * 2,
            "line": {"color": wait.colour, "width": 4}, "opacity": 0.45,
        }
        for wait in waits
    ]  # fmt: skip
    marks: list[Figure] = [
        {
            "type": "scatter", "mode": "markers", "name": escape(run) or title, **more,
            "showlegend": not run or place == 0,
            "x": [_shown_wait(wait.quantiles[place]) for wait in waits], "y": [wait.row for wait in waits],
            "marker": {
                "symbol": symbol, "size": size, "color": [wait.colour for wait in waits],
                "line": {"width": 2 if title == "longest" else 0, "color": [wait.colour for wait in waits]},
            },
            "hoverinfo": "text",
            "text": [
                f"{wait.label}: {title} {duration_text(wait.quantiles[place])}"
                f"<br>of {counted(wait.placed, 'pod')} placed"
                for wait in waits
            ],
        }
        for place, (title, symbol, size) in enumerate(_QUANTILE_MARKS)
    ]  # fmt: skip
    return lines + marks


def waits_figure(data: list[Figure], labels: Sequence[str], longest: Sequence[float], runs: int = 1) -> Figure:
    """Traces on rows that are named by the labels of classes, with space for N runs in each."""
    drawn = layout(
        140 + max(len(labels), 1) * (24 + 20 * runs),
        hovermode="closest",
        xaxis=_wait_axis(longest),
        yaxis=axis(
            tickvals=list(range(len(labels))),
            ticktext=list(labels),
            range=[max(len(labels), 1) - 0.5, -0.5],
            automargin=True,
            zeroline=False,
            showgrid=False,
        ),
        legend=legend(itemsizing="constant"),
        margin={"l": 150, "r": 20, "t": 60, "b": 50},
        shapes=[_rule(place) for place in range(1, len(labels))],
    )
    return {"data": data, "layout": drawn}


def _rule(place: int) -> Figure:
    """Between two classes."""
    line = {"color": "#D5DAE0", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": place - 0.5, "y1": place - 0.5, "line": line}


def _shown_wait(seconds: float) -> float:
    return round(max(seconds, _SHORTEST_WAIT), 4)


def _wait_axis(longest: Sequence[float]) -> Figure:
    top = max([*longest, 10])
    ticks = [tick for tick in _WAIT_TICKS if tick <= top]
    return axis(
        "from creation to placement (logarithmic)",
        type="log",
        range=[float(np.log10(_SHORTEST_WAIT * 0.8)), float(np.log10(top * 1.4))],
        tickvals=ticks,
        ticktext=[f"≤ {duration_text(ticks[0])}", *(duration_text(tick) for tick in ticks[1:])],
    )


def who_evicted(view: SimulationView) -> Figure:
    """Preemptors' classes to the left, victims' to the right."""
    flows = Counter(
        (view.class_by_key[preemption.preemptor], view.class_by_key[victim.pod])
        for preemption in view.run.preemptions
        for victim in preemption.victims
    )
    order = list(view.run.classes)
    left = [name for name in order if any(flow[0] == name for flow in flows)]
    right = [name for name in order if any(flow[1] == name for flow in flows)]
    links = sorted(flows.items(), key=lambda item: (order.index(item[0][0]), order.index(item[0][1])))
    sankey = {
        "type": "sankey",
        "arrangement": "fixed",
        "node": {
            "label": [f"{escape(name)} evicts" for name in left] + [f"{escape(name)} evicted" for name in right],
            "color": [view.colours[name] for name in [*left, *right]],
            "pad": 18, "thickness": 16, "line": {"width": 0},
            "hovertemplate": "%{label}: %{value:,} pods<extra></extra>",
        },
        "link": {
            "source": [left.index(preemptor) for (preemptor, _), _ in links],
            "target": [len(left) + right.index(victim) for (_, victim), _ in links],
            "value": [count for _, count in links],
            "color": [_translucent(view.colours[preemptor]) for (preemptor, _), _ in links],
            "hovertemplate": "%{source.label} %{target.label}: %{value:,} pods<extra></extra>",
        },
    }  # fmt: skip
    height = 50 + 60 * max(len(left), len(right), 1)
    return {"data": [sankey], "layout": layout(height, margin={"l": 10, "r": 10, "t": 10, "b": 20})}


def _translucent(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.4)"
