"""Draws the pictures in README.md and the guides that show what a command prints, unedited.

The files are the demo's, or those of an example.

Run it with the project's Python whenever the output changes; a test tells when that is due.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import TypeAlias

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from bayplan.analysis.cluster import Cluster
from bayplan.cli.answering import with_source
from bayplan.cli.demo import FILES, URGENT_POD, objects_of
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.drain import drain_parts
from bayplan.report.answers.exposure import ranking_parts
from bayplan.report.answers.fix import fix_parts
from bayplan.report.answers.parts import Part
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.answers.whatif import whatif_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.terminal import Verbatim

WIDTH = 116
# The picture must not fetch a font from anywhere; a reader's own monospaced one will do.
FORMAT = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

EXAMPLE = Path(__file__).parents[2] / "examples" / "whatif"

#: Command -> its answer. The picture is called after the first word.
Commands: TypeAlias = dict[str, Callable[[Cluster], Iterable[Part]]]
PICTURES: Commands = {
    f"explain {URGENT_POD}": lambda cluster: explanation_parts(cluster.explain(URGENT_POD).document()),
    "exposure --details": lambda cluster: ranking_parts(cluster.exposure_ranking()),
    "capacity --pod cpu=500m,memory=1Gi": lambda cluster: capacity_parts(cluster.capacity(["cpu=500m,memory=1Gi"])),
    "audit --details": lambda cluster: audit_parts(cluster.audit()),
    f"fix {URGENT_POD}": lambda cluster: fix_parts(cluster.fix(URGENT_POD)),
}
#: Of the example for changes.
CHANGES: Commands = {
    "whatif --apply search.yaml --details": lambda cluster: whatif_parts(cluster.whatif([EXAMPLE / "search.yaml"]), {}),
    "drain -l pool=a --rolling --details": lambda cluster: drain_parts(cluster.drain(selector="pool=a", rolling=True)),
}


def draw(command: str, answer: Iterable[Part], files: str) -> str:
    console = Console(
        file=StringIO(), record=True, width=WIDTH, force_terminal=True, color_system="standard", highlight=False
    )
    for part in terminal_parts(with_source(answer, f"-f {files}"), details="--details" in command):
        if isinstance(part, Verbatim):
            console.print(part.text, markup=False, overflow="fold")
        else:
            console.print(part)
    title = f"bayplan {command} -f {files}"
    name = command.split(maxsplit=1)[0]
    svg = console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id=name)
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def draw_all(commands: Commands, cluster: Cluster, files: str) -> None:
    for command, answer in commands.items():
        picture = Path(__file__).with_name(f"{command.split()[0]}.svg")
        picture.write_text(draw(command, answer(cluster), files), encoding="utf-8")


if __name__ == "__main__":
    draw_all(PICTURES, Cluster(objects_of(*FILES)), "demo-cluster")
    draw_all(CHANGES, Cluster.load(EXAMPLE / "cluster.yaml"), "cluster.yaml")
