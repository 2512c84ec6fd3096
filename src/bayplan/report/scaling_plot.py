"""How the cost of a decision grows, drawn: a PNG, and an HTML page that holds the same picture as SVG.

Needs matplotlib (the extra `plot`), which is imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from bayplan.analysis.bench.machine import Machine
from bayplan.analysis.bench.scaling import NODES_UNDER_PODS, ScalePoint

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
        "mixed-relabelled",
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


def write_plots(points: Sequence[ScalePoint], machine: Machine, html: Path, png: Path) -> None:
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


def _page(svg: str, points: Sequence[ScalePoint], machine: Machine) -> str:
    facts = f"{machine.processor}, {machine.cores} cores, {machine.software}, {machine.date}"
    rows = "\n".join(
        f"<tr><td>{escape(measured.workload)}</td><td>{measured.nodes:,}</td><td>{measured.running:,}</td>"
        f"<td>{measured.decisions_per_second:,.0f}</td><td>{measured.p50_us:,.1f}</td><td>{measured.p99_us:,.1f}</td>"
        f"<td>{measured.peak_mib:,.0f}</td></tr>"
        for measured in (point.measured for point in points)
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>bayplan: cost of a decision</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; }}
svg {{ width: 100%; height: auto; }}
td, th {{ padding: 0.1rem 0.8rem; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }}
</style>
<h1>Cost of a decision</h1>
<p>{escape(facts)}</p>
{svg[svg.index("<svg") :]}
<table>
<tr><th>workload</th><th>nodes</th><th>running pods</th><th>decisions/s</th><th>p50 µs</th><th>p99 µs</th>
<th>peak MiB</th></tr>
{rows}
</table>
</html>
"""
