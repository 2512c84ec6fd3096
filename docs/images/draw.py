"""Draws explain.svg, the picture in the README: what `bayplan explain` prints on the demo's files, unedited.

Run it with the project's Python whenever the output changes; a test tells when that is due.
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from bayplan.analysis.cluster import Cluster
from bayplan.cli.demo import FILES, URGENT_POD, objects_of
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.terminal import Verbatim

PICTURE = Path(__file__).with_name("explain.svg")
WIDTH = 116
# The picture must not fetch a font from anywhere; a reader's own monospaced one will do.
FORMAT = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw() -> str:
    console = Console(
        file=StringIO(), record=True, width=WIDTH, force_terminal=True, color_system="standard", highlight=False
    )
    document = Cluster(objects_of(*FILES)).explain(URGENT_POD).document()
    for part in terminal_parts(explanation_parts(document)):
        if isinstance(part, Verbatim):
            console.print(part.text, soft_wrap=True, markup=False)
        else:
            console.print(part)
    title = f"bayplan explain {URGENT_POD} -f demo-cluster"
    svg = console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id="explain")
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
