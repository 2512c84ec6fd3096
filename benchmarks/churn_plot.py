"""Draws what `live_churn.py` has seen of a cluster over time.

    python benchmarks/churn_plot.py LINES.jsonl [--out docs/images/churn.png]

A panel for each thing that must not grow: memory, the state file, open files, processor time, how long pods waited, and
the longest collection of each minute. Axes begin at zero, so that flat looks flat. Needs matplotlib (the extra `plot`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

#: Title and unit of each panel, and which figure of a process it shows; those without one are of the whole.
OF_PROCESSES = (
    ("memory", "MB", "memory_mb"),
    ("state file", "MB", "state_mb"),
    ("processor", "% of a core", "cpu_percent"),
    ("open files", "", "open_files"),
    ("longest garbage collection", "ms of processor time", "gc_max_cpu_ms"),
)
WAITING = ("from creation to binding", "ms", {"median": "p50_ms", "99th percentile": "p99_ms"})
COLORS = {"up": "tab:blue", "run": "tab:orange", "median": "tab:green", "99th percentile": "tab:gray"}


def figure_of(lines: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(12, 6.4), layout="constrained", facecolor="white")
    panels = figure.subplots(2, 3, sharex=True).flat
    minutes = [line["second"] / 60 for line in lines]
    for panel, (title, unit, name) in zip(panels, OF_PROCESSES, strict=False):
        for process in ("up", "run"):
            if name in lines[0].get(process, {}):
                panel.plot(minutes, [line[process][name] for line in lines], label=process, color=COLORS[process])
        _finish(panel, title, unit)
    title, unit, curves = WAITING
    panel = figure.axes[-1]
    for label, name in curves.items():
        panel.plot(minutes, [line[name] for line in lines], label=label, color=COLORS[label])
    _finish(panel, title, unit)
    for bottom in figure.axes[3:]:
        bottom.set_xlabel("minutes")
    created = lines[-1]["created"] - lines[0]["created"]
    rate = created / (lines[-1]["second"] - lines[0]["second"])
    figure.suptitle(f"{lines[-1]['created']:,} distinct pods, {rate:.0f} a second, each for a minute")
    return figure


def _finish(panel: Any, title: str, unit: str) -> None:
    panel.set_title(title)
    panel.set_ylabel(unit)
    panel.set_ylim(bottom=0, top=1.2 * panel.get_ylim()[1])
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small", loc="lower right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images/churn.png"))
    arguments = parser.parse_args()
    lines = [json.loads(line) for line in arguments.lines.read_text().splitlines()]
    figure_of(lines).savefig(arguments.out, dpi=90)


if __name__ == "__main__":
    main()
