"""Questions asked on the command line about a dump, and their answers."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayplan.cli.main import run

DUMP = "dump.json"
#: A line of this length goes on in the next one.
_WRAPPED_MIN = 140


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed."""

    code: int
    text: str
    notes: str  # on standard error

    @property
    def line(self) -> str:
        """The first sentence, or the error where there is no answer."""
        lines = (self.text.strip() or self.notes.strip()).splitlines()
        end = next((number for number, line in enumerate(lines) if line.endswith(".")), 0)
        start = end
        while start and len(lines[start - 1]) > _WRAPPED_MIN:
            start -= 1
        return " ".join(lines[start : end + 1])

    @property
    def document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.text)
        return read


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks about the files in a folder."""

    folder: Path
    gates: str = ""

    def ask(self, question: str, *options: str) -> Answer:
        """The question is a command line; it is about the dump unless it names files with -f."""
        words = [str(path) if (path := self.folder / word).is_file() else word for word in shlex.split(question)]
        if "-f" not in words:
            words += ["-f", str(self.folder / DUMP)]
        words += ["--feature-gates", self.gates] if self.gates else []
        text, notes = io.StringIO(), io.StringIO()
        with redirect_stdout(text), redirect_stderr(notes):
            code = run([*words, *options])
        return Answer(code, text.getvalue(), notes.getvalue())
