"""Nodes over time as a figure: each pod a bar, or, for many nodes, each node a row of a heat map.

A Gantt chart of a thousand nodes shows nothing, and thousands of bars make a page heavy. So above `NODES_MAX` nodes or
`PODS_MAX` pods the used share of each node is drawn instead. Preemptions are marked in both; a mark leads to the record
of its preemption, if the page has that.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import End, NodeRow
from bayplan.report.drawing.bands import TimeSpan, figure, time_ticks
from bayplan.report.drawing.pixels import picture
from bayplan.report.drawing.ticks import short
from bayplan.report.durations import duration_text
from bayplan.report.markup import joined, tag
from bayplan.report.simulation.time_figures import time_span
from bayplan.report.simulation.view import SimulationView, Stay
from bayplan.report.words import counted

NODES_MAX = 60
PODS_MAX = 1_000
_CELLS_MAX = 45_000
_BUCKETS_MAX = 300
_ROWS_MAX = 400  # of a heat map; of more nodes, several share a row
_MARKS_MAX = 500
_ROW = 0.86  # of the distance between two nodes; the rest keeps them apart
_LABEL_LENGTH = 28
_HEIGHT_MAX = 1_200  # pixels
_LABEL_HEIGHT = 14
_BLUE, _RED = (23, 105, 190), (200, 70, 0)
_LABEL = "Nodes over time"


def is_aggregated(view: SimulationView) -> bool:
    return len(view.nodes) > NODES_MAX or len(view.stays) > PODS_MAX


def nodes_over_time(view: SimulationView, records: int) -> Markup:
    """`records` is how many preemptions have a record on the page."""
    return _heat_map(view, records) if is_aggregated(view) else _gantt(view, records)


def shortened(name: str, at_most: int = _LABEL_LENGTH) -> str:
    """Both ends of a name: the workload, and what distinguishes it from its siblings."""
    if len(name) <= at_most:
        return name
    tail = at_most // 2
    return f"{name[: at_most - tail - 1]}…{name[-tail:]}"


def _figure(names: Sequence[str], height: int, span: TimeSpan, drawn: Iterable[Markup], above: Markup) -> Markup:
    area = tag(
        "svg",
        drawn,
        class_="area",
        viewBox=span.viewed(height),
        preserveAspectRatio="none",
        height=height,
        role="group",
        aria_label=_LABEL,
    )
    return figure(_LABEL, span, [above, _name_axis(names, height), area, time_ticks(span)], "nodes")


def _name_axis(names: Sequence[str], height: int) -> Markup:
    """As many names as there is room for."""
    every = max(1, -(-_LABEL_HEIGHT * len(names) // height)) if names else 1
    labels = [
        tag("text", tag("title", name), shortened(name), x="100%", y=short((row + 0.5) * height / len(names) + 4))
        for row, name in enumerate(names)
        if row % every == 0
    ]
    return tag("svg", labels, class_="axis", height=height, aria_hidden="true")


def _mark(x: float, y: float, title: str, record: int | None, records: int, look: str = "mark") -> Markup:
    """A point that keeps its size when the area is stretched: a line without length."""
    place = f"M{short(x)},{short(y)}h0"
    drawn = joined(tag("path", class_="ring", d=place), tag("path", tag("title", title), class_=look, d=place))
    return tag("a", drawn, href=f"#preemption-{record}") if record is not None and record < records else drawn


# ---------------------------------------------------------------- each pod a bar


@dataclass(frozen=True, slots=True)
class PodBar:
    """A pod's stay, and where it is drawn: nodes are a unit apart."""

    stay: Stay
    top: float
    height: float


def _gantt(view: SimulationView, records: int) -> Markup:
    names = list(view.nodes)
    bars, lane_count = pod_bars(view)
    row_height = _row_height(lane_count, len(names))
    height = row_height * max(len(names), 1)

    def shapes() -> Iterator[Markup]:
        yield from _lives(view, names, row_height)
        for bar in bars:
            yield _pod_bar(view, bar, row_height)
        for bar in bars:
            if bar.stay.pod.end is End.PREEMPTED:
                x, y = view.unit.of(bar.stay.until), (bar.top + bar.height / 2) * row_height
                yield _mark(x, y, _pod_text(view, bar.stay), view.preemption_of(bar.stay.pod), records)

    legend = [tag("span", tag("i", class_=look), name) for name, look in view.looks.items()]
    legend.append(tag("span", tag("i", class_="alarm round"), "preempted"))
    return _figure(names, height, time_span(view), shapes(), tag("div", legend, class_="head"))


def pod_bars(view: SimulationView) -> tuple[list[PodBar], dict[str, int]]:
    """All stays, in lanes of their node's row, and each node's number of lanes."""
    lanes, lane_count = _lanes(view)
    rows = _rows(view.nodes)
    bars = []
    for stay, lane in zip(view.stays, lanes, strict=True):
        height = _ROW / lane_count[stay.node]
        bars.append(PodBar(stay, rows[stay.node] + (1 - _ROW) / 2 + lane * height, height))
    return bars, lane_count


def _row_height(lane_count: dict[str, int], nodes: int) -> int:
    """Pixels: enough for each pod of the fullest node, as long as the figure fits a tall screen."""
    wanted = 8 * max(lane_count.values(), default=1)
    return max(22, min(max(wanted, 36), 110, _HEIGHT_MAX // max(nodes, 1)))


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


def _pod_bar(view: SimulationView, bar: PodBar, row_height: int) -> Markup:
    stay = bar.stay
    return tag(
        "rect",
        tag("title", _pod_text(view, stay)),
        class_=f"pod {view.looks[stay.pod.class_name]}",
        x=short(view.unit.of(stay.since)),
        y=short(bar.top * row_height),
        width=short(view.unit.of(max(stay.until - stay.since, 0))),
        height=short(bar.height * row_height),
    )


def _pod_text(view: SimulationView, stay: Stay) -> str:
    pod = stay.pod
    lines = [
        f"{pod.key}, {pod.class_name} ({pod.priority:,})",
        f"{stay.node}, {duration_text(stay.since)} to {duration_text(stay.until)}: {pod.end}",
        f"waited {duration_text(stay.since - pod.created)}",
    ]
    taken = view.preemption_of(pod)
    if taken is not None:
        lines.append(f"preempted by {view.run.preemptions[taken].preemptor}")
    return "\n".join(lines)


def _lives(view: SimulationView, names: Sequence[str], row_height: int) -> Iterator[Markup]:
    """A band for the time in which a node exists: free capacity is gray, no node is the background."""
    for row, name in enumerate(names):
        for life in view.nodes[name]:
            yield tag(
                "rect",
                class_="life",
                x=short(view.unit.of(life.since)),
                y=short((row + (1 - _ROW) / 2) * row_height),
                width=short(view.unit.of(_until(view, life) - life.since)),
                height=short(_ROW * row_height),
            )


def _until(view: SimulationView, life: NodeRow) -> float:
    return view.seconds if life.until is None else life.until


# ---------------------------------------------------------------- each node a row


@dataclass(frozen=True)
class HeatMap:
    """Levels from 0 to 100 by row and time; -1 where there was no node."""

    name: str
    levels: npt.NDArray[np.int64]
    color: tuple[int, int, int]


def _heat_map(view: SimulationView, records: int) -> Markup:
    names = row_names(list(view.nodes))
    span = time_span(view)
    height = min(14 * len(names), 760) if len(names) > NODES_MAX else 24 * len(names)
    maps = heat_maps(view)
    buttons = [
        tag("label", tag("input", type="radio", name="map", value=place, checked=place == 0), each.name)
        for place, each in enumerate(maps)
    ]

    def shapes() -> Iterator[Markup]:
        for place, each in enumerate(maps):
            address, size = picture(each.levels, each.color), {"width": short(span.end), "height": height}
            yield tag("image", class_=f"map map-{place}", href=address, preserveAspectRatio="none", **size)
        yield from _row_titles(names, maps[0], span, height)
        yield from _preemption_marks(view, height, records)

    return _figure(names, height, span, shapes(), tag("div", buttons, class_="head"))


def row_names(names: Sequence[str]) -> list[str]:
    starts = _group_starts(len(names))
    ends = [*starts[1:], len(names)]
    return [
        names[start] if end == start + 1 else f"{names[start]} to {names[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    ]


def _group_starts(nodes: int) -> list[int]:
    return list(range(0, nodes, max(1, -(-nodes // _ROWS_MAX))))


def heat_maps(view: SimulationView) -> list[HeatMap]:
    names = list(view.nodes)
    starts = _group_starts(len(names))
    buckets = min(_CELLS_MAX // max(len(starts), 1), round(_BUCKETS_MAX * view.seen_closer))
    edges = np.linspace(0, max(view.seconds, 1e-9), buckets + 1)
    counts = np.add.reduceat(_evictions(view, names, edges), starts)
    # A single eviction must be seen next to none.
    evicted = np.where(counts > 0, 30 + 70 * counts // max(int(counts.max(initial=0)), 1), 0)

    def levels(requests: list[int], resource: str) -> npt.NDArray[np.int64]:
        shares = _shares(view, requests, resource, edges)
        there = np.add.reduceat(~np.isnan(shares), starts, dtype=np.int64)
        means = np.add.reduceat(np.nan_to_num(shares), starts) / np.maximum(there, 1)
        return np.where(there == 0, -1, np.round(means * 100)).astype(np.int64)

    return [
        HeatMap("cpu", levels([stay.pod.cpu for stay in view.stays], "cpu"), _BLUE),
        HeatMap("memory", levels([stay.pod.memory for stay in view.stays], "memory"), _BLUE),
        HeatMap("evictions", evicted, _RED),
    ]


def _row_titles(names: Sequence[str], cpu: HeatMap, span: TimeSpan, height: int) -> Iterator[Markup]:
    row_height = height / max(len(names), 1)
    for row, name in enumerate(names):
        there = cpu.levels[row][cpu.levels[row] >= 0]
        said = f"{name}: {there.mean():.0f} % of cpu used on average" if len(there) else name
        size = {"width": short(span.end), "height": short(row_height)}
        yield tag("rect", tag("title", said), class_="strip", y=short(row * row_height), **size)


def _preemption_marks(view: SimulationView, height: int, records: int) -> Iterator[Markup]:
    """None if there are so many that they would hide the map: the map of evictions shows the same."""
    nodes = _rows(view.nodes)
    if len(view.run.preemptions) > _MARKS_MAX:
        return
    for position, preemption in enumerate(view.run.preemptions):
        if preemption.node in nodes:
            said = f"{preemption.preemptor} evicted {counted(len(preemption.victims), 'pod')}"
            title = f"{said}\non {preemption.node} at {duration_text(preemption.t)}"
            y = (nodes[preemption.node] + 0.5) * height / len(nodes)
            yield _mark(view.unit.of(preemption.t), y, title, position, records, "mark small")


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
