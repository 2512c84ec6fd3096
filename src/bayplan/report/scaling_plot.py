"""How the cost of a decision grows, drawn: a PNG, and an HTML page that holds the same picture as SVG.

Needs matplotlib (the extra `plot`), which is imported only when something is drawn.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from bayplan.analysis.bench.machine import HostFacts
from bayplan.analysis.bench.scaling import NODES_UNDER_PODS, ScalePoint
from bayplan.report.answers.html import html_table
from bayplan.report.html_page import document
from bayplan.report.markup import joined, tag

_TITLE = "Cost of a decision"
_AXES = (
    ("nodes", "nodes"),
    ("running", f"pods running already on {NODES_UNDER_PODS:,} nodes"),
)
#: Workloads that are drawn together, by what their decisions look at.
FAMILIES = {
    "each node for itself": (
        "basic",
        "mixed",
        "mixed-600",
        "mixed-relabeled",
        "autoscaled",
        "mixed-nominated",
        "unique",
        "node-affinity",
        "mixed-100k",
        "million",
    ),
    "pods beside each other": ("services", "spread", "spread-soft", "anti-affinity", "affinity"),
    "preemption": ("preempt", "preempt-spread", "preempt-apart", "unschedulable"),
    "claims": ("volumes", "devices"),
}


def write_plots(points: Sequence[ScalePoint], machine: HostFacts, html: Path, png: Path) -> None:
    figure = _figure(points)
    figure.savefig(png, dpi=90)
    drawn = StringIO()
    figure.savefig(drawn, format="svg")
    html.write_text(_page(drawn.getvalue(), points, machine), encoding="utf-8")


def _figure(points: Sequence[ScalePoint]) -> Any:
    """A column for each family of workloads: over the nodes above, over the running pods below."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra that most installations lack

    measured = {point.measured.workload for point in points}
    shown = {family: names for family, names in FAMILIES.items() if measured.intersection(names)}
    figure = Figure(figsize=(4.2 * len(shown), 8), layout="constrained")
    figure.suptitle("Microseconds per decision (median)")
    panels = figure.subplots(len(_AXES), len(shown), sharey=True, squeeze=False)
    for row, (varied, label) in zip(panels, _AXES, strict=True):
        for panel, (family, names) in zip(row, shown.items(), strict=True):
            _draw(panel, [point for point in points if point.varied == varied], names)
            panel.set(title=family, xlabel=label)
        row[0].set(ylabel="µs")
        row[0].set_ylim(top=row[0].get_ylim()[1] * 3)  # room for the legends
    return figure


def _draw(panel: Any, points: Sequence[ScalePoint], names: Sequence[str]) -> None:
    panel.set(yscale="log")
    for name in names:
        line = sorted(_position(point) for point in points if point.measured.workload == name)
        if line:
            panel.plot([x for x, _ in line], [y for _, y in line], marker="o", label=name)
    if points and points[0].varied == "nodes":
        panel.set(xscale="log")
        few, many = (function(point.measured.nodes for point in points) for function in (min, max))
        panel.plot([few, many], [10, 10 * many / few], color="grey", linestyle=":", label="linear")
    panel.grid(alpha=0.3)
    panel.legend(fontsize="x-small", ncols=2, loc="upper left")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_formatter("{x:,.0f}")


def _position(point: ScalePoint) -> tuple[int, float]:
    measured = point.measured
    return measured.nodes if point.varied == "nodes" else measured.running, measured.p50_us


def _page(svg: str, points: Sequence[ScalePoint], machine: HostFacts) -> str:
    facts = f"{machine.processor}, {machine.cores} cores, {machine.software}, {machine.date}"
    rows = [
        (
            measured.workload,
            measured.nodes,
            measured.running,
            f"{measured.decisions_per_second:,.0f}",
            f"{measured.p50_us:,.1f}",
            f"{measured.p99_us:,.1f}",
            f"{measured.peak_mib:,.0f}",
        )
        for measured in (point.measured for point in points)
    ]
    titles = ["workload", "nodes", "running pods", "decisions/s", "p50 µs", "p99 µs", "peak MiB"]
    # As an image of its own, because matplotlib's drawings have styles that the page's policy forbids.
    address = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    picture = tag("img", src=address, alt="Microseconds per decision, by workload", class_="drawing")
    body = joined(tag("h1", _TITLE), tag("p", facts), picture, html_table(titles, rows, titles[1:]))
    return document(f"bayplan: {_TITLE.lower()}", body)
