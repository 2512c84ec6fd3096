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
    ("nodes", "nodes", "no pods running"),
    ("running", "running pods", f"{NODES_UNDER_PODS:,} nodes"),
)


def write_plots(points: Sequence[ScalePoint], machine: Machine, html: Path, png: Path) -> None:
    figure = _figure(points)
    figure.savefig(png, dpi=120)
    drawn = StringIO()
    figure.savefig(drawn, format="svg")
    html.write_text(_page(drawn.getvalue(), points, machine), encoding="utf-8")


def _figure(points: Sequence[ScalePoint]) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra that most installations lack

    figure = Figure(figsize=(12, 5), layout="constrained")
    for axes, (varied, label, title) in zip(figure.subplots(1, 2, sharey=True), _AXES, strict=True):
        for workload in dict.fromkeys(point.measured.workload for point in points):
            line = sorted(_line(points, varied, workload))
            axes.plot([x for x, _ in line], [y for _, y in line], marker="o", label=workload)
        axes.set(xlabel=label, title=f"Microseconds per decision ({title})")
        axes.grid(alpha=0.3)
        axes.legend()
        axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.axes[0].set(ylabel="µs, median", ylim=(0, None))
    return figure


def _line(points: Sequence[ScalePoint], varied: str, workload: str) -> list[tuple[int, float]]:
    return [
        (point.measured.nodes if varied == "nodes" else point.measured.running, point.measured.p50_us)
        for point in points
        if point.varied == varied and point.measured.workload == workload
    ]


def _page(svg: str, points: Sequence[ScalePoint], machine: Machine) -> str:
    facts = (
        f"{machine.processor}, {machine.cores} cores, Python {machine.python}, NumPy {machine.numpy}, {machine.date}"
    )
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
