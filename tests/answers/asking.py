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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed."""

    code: int
    text: str
    notes: str  # on standard error

    @property
    def line(self) -> str:
        """The first line, or the error where there is no answer."""
        return (self.text.strip() or self.notes.strip()).partition("\n")[0]

    @property
    def document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.text)
        return read


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks about the files in a folder."""

    folder: Path

    def ask(self, question: str, *options: str) -> Answer:
        """The question is a command line; it is about the dump unless it names files with -f."""
        words = [str(path) if (path := self.folder / word).is_file() else word for word in shlex.split(question)]
        if "-f" not in words:
            words += ["-f", str(self.folder / DUMP)]
        text, notes = io.StringIO(), io.StringIO()
        with redirect_stdout(text), redirect_stderr(notes):
            code = run([*words, *options])
        return Answer(code, text.getvalue(), notes.getvalue())
