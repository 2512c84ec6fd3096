"""Draws the pictures in README.md and the guides that show what a command prints on the demo's files, unedited.

Run it with the project's Python whenever the output changes; a test tells when that is due.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from bayplan.analysis.cluster import Cluster
from bayplan.cli.demo import FILES, URGENT_POD, objects_of
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.exposure import ranking_parts
from bayplan.report.answers.fix import fix_parts
from bayplan.report.answers.parts import Part
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.terminal import Verbatim

WIDTH = 116
# The picture must not fetch a font from anywhere; a reader's own monospaced one will do.
FORMAT = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

#: Command -> its answer. The picture is called after the first word.
PICTURES: dict[str, Callable[[Cluster], Iterable[Part]]] = {
    f"explain {URGENT_POD}": lambda cluster: explanation_parts(cluster.explain(URGENT_POD).document()),
    "exposure": lambda cluster: ranking_parts(cluster.exposure_ranking()),
    "capacity --pod cpu=500m,memory=1Gi": lambda cluster: capacity_parts(cluster.capacity(["cpu=500m,memory=1Gi"])),
    "audit": lambda cluster: audit_parts(cluster.audit()),
    f"fix {URGENT_POD}": lambda cluster: fix_parts(cluster.fix(URGENT_POD)),
}


def draw(command: str) -> str:
    console = Console(
        file=StringIO(), record=True, width=WIDTH, force_terminal=True, color_system="standard", highlight=False
    )
    for part in terminal_parts(PICTURES[command](Cluster(objects_of(*FILES)))):
        if isinstance(part, Verbatim):
            console.print(part.text, markup=False, overflow="fold")
        else:
            console.print(part)
    title = f"bayplan {command} -f demo-cluster"
    name = command.split(maxsplit=1)[0]
    svg = console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id=name)
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


if __name__ == "__main__":
    for command in PICTURES:
        picture = Path(__file__).with_name(f"{command.split()[0]}.svg")
        picture.write_text(draw(command), encoding="utf-8")
