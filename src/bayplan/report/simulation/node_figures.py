"""Nodes over time as a figure for plotly: each pod a bar, or, for many nodes, each node a row of a heat map.

A Gantt chart of a thousand nodes shows nothing, and tens of thousands of bars bring a browser to a halt. So above
`NODES_MAX` nodes or `PODS_MAX` pods the used share of each node is drawn instead. Preemptions are marked in both;
a mark carries the position of its preemption, by which the page opens the record.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from bayplan.analysis.simulation.results.run_format import End, NodeRow
from bayplan.report.durations import duration_text
from bayplan.report.simulation.time_figures import Figure, axis, layout, legend, time_axis, whole_run
from bayplan.report.simulation.view import ALARM, SimulationView, Stay
from bayplan.report.words import counted

NODES_MAX = 60
PODS_MAX = 5_000
_CELLS_MAX = 240_000
_BUCKETS_MAX, _BUCKETS_MIN = 300, 60
_MARKS_MAX = 800
_ROW = 0.86  # of the distance between two nodes; the rest keeps them apart
_LABEL_LENGTH = 28
_HEIGHT_MAX = 1_200  # pixels
_OUTLINED_MAX = 1_000
#: One hue from light to dark, so that the order is visible without colors, too.
_FILLING = [[0, "#F3F7FB"], [0.25, "#C3DBEC"], [0.5, "#74AFD6"], [0.75, "#2E75B0"], [1, "#08264F"]]
_NO_NODE = "#BDBDBD"
_MARK = {"symbol": "x", "size": 8, "color": ALARM, "line": {"color": "#FFFFFF", "width": 1}}


def is_aggregated(view: SimulationView) -> bool:
    return len(view.nodes) > NODES_MAX or len(view.stays) > PODS_MAX


def nodes_over_time(view: SimulationView) -> Figure:
    return _heat_map(view) if is_aggregated(view) else _gantt(view)


def shortened(name: str, at_most: int = _LABEL_LENGTH) -> str:
    """Both ends of a name: the workload, and what distinguishes it from its siblings."""
    if len(name) <= at_most:
        return name
    tail = at_most // 2
    return f"{name[: at_most - tail - 1]}…{name[-tail:]}"


# ---------------------------------------------------------------- each pod a bar


@dataclass(frozen=True, slots=True)
class _Bar:
    """A pod's stay, and where it is drawn: nodes are a unit apart."""

    stay: Stay
    centre: float
    height: float


def _gantt(view: SimulationView) -> Figure:
    names = list(view.nodes)
    lanes, lane_count = _lanes(view)
    rows = _rows(names)
    drawn_bars = []
    for stay, lane in zip(view.stays, lanes, strict=True):
        height = _ROW / lane_count[stay.node]
        centre = rows[stay.node] - _ROW / 2 + (lane + 0.5) * _ROW / lane_count[stay.node]
        drawn_bars.append(_Bar(stay, round(centre, 5), round(height, 5)))
    data = [
        _bars_of(name, view, bars)
        for name in view.run.classes
        if (bars := [bar for bar in drawn_bars if bar.stay.pod.class_name == name])
    ]
    data.append(_victim_marks(view, drawn_bars))
    drawn = layout(
        130 + _row_height(lane_count, len(names)) * max(len(names), 1),
        hovermode="closest",
        barmode="overlay",
        meta=whole_run(view),
        dragmode="zoom",
        xaxis=time_axis(view),
        yaxis=axis(
            tickvals=list(range(len(names))),
            ticktext=[escape(shortened(name)) for name in names],
            range=[max(len(names), 1) - 0.5, -0.5],
            showgrid=False,
            zeroline=False,
            automargin=True,
        ),
        shapes=_lives(view, names),
        legend=legend(1.0),
    )
    return {"data": data, "layout": drawn}


def _row_height(lane_count: dict[str, int], nodes: int) -> int:
    """Pixels: enough for each pod of the fullest node, as long as the figure fits a tall screen."""
    wanted = 8 * max(lane_count.values(), default=1)
    return max(22, min(wanted, 110, _HEIGHT_MAX // max(nodes, 1)))


def _lanes(view: SimulationView) -> tuple[list[int], dict[str, int]]:
    """For each stay the first lane of its node that is free, and each node's number of lanes."""
    busy: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    free: defaultdict[str, list[int]] = defaultdict(list)
    count: defaultdict[str, int] = defaultdict(int)
    lanes = []
    for stay in view.stays:
        node = stay.node
        while busy[node] and busy[node][0][0] <= stay.since:
            heapq.heappush(free[node], heapq.heappop(busy[node])[1])
        if free[node]:
            lane = heapq.heappop(free[node])
        else:
            lane, count[node] = count[node], count[node] + 1
        heapq.heappush(busy[node], (stay.until, lane))
        lanes.append(lane)
    return lanes, dict(count)


def _rows(names: Iterable[str]) -> dict[str, int]:
    return {name: row for row, name in enumerate(names)}


def _bars_of(class_name: str, view: SimulationView, bars: Sequence[_Bar]) -> Figure:
    return {
        "type": "bar", "orientation": "h", "name": f"{escape(class_name)} ({view.run.classes[class_name]:,})",
        "base": [view.unit.of(bar.stay.since) for bar in bars],
        "x": [view.unit.of(max(bar.stay.until - bar.stay.since, 0)) for bar in bars],
        "y": [bar.centre for bar in bars],
        "width": [bar.height for bar in bars],
        "marker": {
            "color": view.colours[class_name],
            "line": {"color": "#FFFFFF", "width": [_outline(view, bar.stay) for bar in bars]},
        },
        "hoverinfo": "text", "textposition": "none", "text": [_pod_text(view, bar.stay) for bar in bars],
    }  # fmt: skip


def _outline(view: SimulationView, stay: Stay) -> float:
    """Keeps neighbours apart; around a bar of a pixel or two it would hide the bar."""
    wide = stay.until - stay.since > view.seconds / 200
    return 0.6 if wide and len(view.stays) <= _OUTLINED_MAX else 0


def _pod_text(view: SimulationView, stay: Stay) -> str:
    pod = stay.pod
    lines = [
        f"<b>{escape(pod.key)}</b>",
        f"{escape(pod.class_name)}, priority {pod.priority:,}, on {escape(stay.node)}",
        f"{duration_text(stay.since)} to {duration_text(stay.until)}: {pod.end}",
        f"waited {duration_text(stay.since - pod.created)}",
    ]
    taken = view.preemption_of(pod)
    if taken is not None:
        lines.append(f"preempted by {escape(view.run.preemptions[taken].preemptor)}")
    return "<br>".join(lines)


def _victim_marks(view: SimulationView, bars: Sequence[_Bar]) -> Figure:
    victims = [bar for bar in bars if bar.stay.pod.end is End.PREEMPTED]
    return _marks(
        [view.unit.of(bar.stay.until) for bar in victims],
        [bar.centre for bar in victims],
        [f"{_pod_text(view, bar.stay)}<br>click for the record" for bar in victims],
        [view.preemption_of(bar.stay.pod) for bar in victims],
    )


def _marks(x: list[float], y: list[Any], text: list[str], positions: Sequence[int | None]) -> Figure:
    return {
        "type": "scatter", "mode": "markers", "name": "preempted", "x": x, "y": y, "text": text, "hoverinfo": "text",
        "customdata": list(positions), "marker": _MARK,
    }  # fmt: skip


def _lives(view: SimulationView, names: Sequence[str]) -> list[Figure]:
    """A band for the time in which a node exists: free capacity is gray, no node is white."""
    return [
        {
            "type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": "#ECEFF2",
            "x0": view.unit.of(life.since), "x1": view.unit.of(_until(view, life)),
            "y0": row - _ROW / 2, "y1": row + _ROW / 2,
        }
        for row, name in enumerate(names)
        for life in view.nodes[name]
    ]  # fmt: skip


def _until(view: SimulationView, life: NodeRow) -> float:
    return view.seconds if life.until is None else life.until


# ---------------------------------------------------------------- each node a row


def _heat_map(view: SimulationView) -> Figure:
    names = list(view.nodes)
    buckets = min(max(_CELLS_MAX // max(len(names), 1), _BUCKETS_MIN), round(_BUCKETS_MAX * view.seen_closer))
    edges = np.linspace(0, max(view.seconds, 1e-9), buckets + 1)
    middles = [view.unit.of(float(middle)) for middle in (edges[:-1] + edges[1:]) / 2]
    labels = [escape(name) for name in names]
    maps = [
        _share_map("cpu", _shares(view, [stay.pod.cpu for stay in view.stays], "cpu", edges)),
        _share_map("memory", _shares(view, [stay.pod.memory for stay in view.stays], "memory", edges)),
        _eviction_map(_evictions(view, names, edges)),
    ]
    for position, heat_map in enumerate(maps):
        heat_map |= {"type": "heatmap", "x": middles, "y": labels, "visible": position == 0, "hoverongaps": False}
    data = [*maps, *_preemption_marks(view)]
    drawn = layout(
        min(170 + 14 * len(names), 920) if len(names) > NODES_MAX else 170 + 24 * len(names),
        hovermode="closest",
        meta=whole_run(view),
        xaxis=time_axis(view, showgrid=False),
        yaxis=axis(
            type="category", range=[len(names) - 0.5, -0.5], nticks=30, showgrid=False, zeroline=False, automargin=True
        ),
        plot_bgcolor=_NO_NODE,
        updatemenus=[_switch([heat_map["name"] for heat_map in maps], len(data) - len(maps))],
        margin={"l": 70, "r": 20, "t": 60, "b": 50},
        legend=legend(1.0, x=1, xanchor="right"),
        showlegend=True,
    )
    return {"data": data, "layout": drawn}


def _share_map(resource: str, shares: npt.NDArray[np.float64]) -> Figure:
    percent = np.where(np.isnan(shares), -1, np.round(shares * 100)).astype(int)
    return {
        "name": resource,
        "z": [[None if cell < 0 else cell for cell in row] for row in percent.tolist()],
        "zmin": 0, "zmax": 100, "colorscale": _FILLING,
        "colorbar": {"title": {"text": f"{resource} utilization, %", "side": "right"}, "thickness": 14},
        "hovertemplate": "%{y}<br>" + resource + " %{z} % used<extra></extra>",
    }  # fmt: skip


def _eviction_map(counts: npt.NDArray[np.int64]) -> Figure:
    return {
        "name": "evictions",
        "z": counts.tolist(),
        "zmin": 0, "zmax": max(int(counts.max(initial=0)), 1),
        "colorscale": [[0, "#F4F5F7"], [1e-9, "#FBD0B0"], [1, "#8F3B00"]],
        "colorbar": {"title": {"text": "pods evicted", "side": "right"}, "thickness": 14, "tickformat": ",d"},
        "hovertemplate": "%{y}<br>%{z} evicted by preemption<extra></extra>",
    }  # fmt: skip


def _switch(names: Sequence[str], marks: int) -> Figure:
    """Buttons that show one map at a time; the marks stay."""
    return {
        "type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom",
        "pad": {"b": 8}, "showactive": True,
        "buttons": [
            {"label": name, "method": "restyle",
             "args": [{"visible": [*(other == name for other in names), *([True] * marks)]}]}
            for name in names
        ],
    }  # fmt: skip


def _preemption_marks(view: SimulationView) -> list[Figure]:
    """None if there are so many that they would hide the map: the map of evictions shows the same."""
    if not 0 < len(view.run.preemptions) <= _MARKS_MAX:
        return []
    preemptions = view.run.preemptions
    marks = _marks(
        [view.unit.of(preemption.t) for preemption in preemptions],
        [escape(preemption.node) for preemption in preemptions],
        [
            f"{escape(preemption.preemptor)} evicted {counted(len(preemption.victims), 'pod')}"
            f"<br>on {escape(preemption.node)} at {duration_text(preemption.t)}<br>click for the record"
            for preemption in preemptions
        ],
        range(len(preemptions)),
    )
    return [marks | {"name": "preemption", "marker": _MARK | {"size": 6}}]


def _shares(
    view: SimulationView, requests: Sequence[int], resource: str, edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Mean share that the stays' requests take, float (nodes, buckets); nan where the node does not exist."""
    rows = _rows(view.nodes)
    used = _integrals(
        ((rows[stay.node], stay.since, stay.until, amount) for stay, amount in zip(view.stays, requests, strict=True)),
        len(rows),
        edges,
    )
    room = _integrals(
        (
            (rows[name], life.since, _until(view, life), life.allocatable.get(resource, 0))
            for name, lives in view.nodes.items()
            for life in lives
        ),
        len(rows),
        edges,
    )
    # Differences of large sums are not exactly zero.
    exists = room > 1e-6 * max(float(room.max(initial=0)), 1e-12)
    return np.where(exists, np.clip(used / np.where(exists, room, 1), 0, 1), np.nan)


def _integrals(
    spans: Iterable[tuple[int, float, float, float]], rows: int, edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The integral of all spans' amounts (row, from, until, amount) over each bucket, float (rows, buckets)."""
    table = np.array(list(spans), dtype=float).reshape(-1, 4)
    buckets, width = len(edges) - 1, float(edges[1] - edges[0])
    inside = np.zeros((rows, buckets + 1))
    later = np.zeros((rows, buckets + 1))
    for column, sign in ((1, 1.0), (2, -1.0)):
        times = np.clip(table[:, column], edges[0], edges[-1])
        bucket = np.minimum((times / width).astype(int), buckets - 1)
        row, amount = table[:, 0].astype(int), sign * table[:, 3]
        np.add.at(inside, (row, bucket), amount * (edges[bucket + 1] - times))
        np.add.at(later, (row, bucket + 1), amount)
    return np.asarray((inside + np.cumsum(later, axis=1) * width)[:, :buckets])


def _evictions(view: SimulationView, names: Sequence[str], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Pods evicted by preemption, int (nodes, buckets)."""
    rows = _rows(names)
    counts = np.zeros((len(names), len(edges) - 1), dtype=np.int64)
    for preemption in view.run.preemptions:
        if preemption.node in rows:
            bucket = min(int(preemption.t / float(edges[1])), len(edges) - 2)
            counts[rows[preemption.node], bucket] += len(preemption.victims)
    return counts
