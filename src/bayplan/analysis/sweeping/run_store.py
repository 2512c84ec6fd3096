"""Outcomes of runs in a directory: none is lost that was added, whatever happens to the process.

Each outcome is appended to a file as it comes; every hundred become a Parquet file, and all of them one table at the
end. What is there is found again by the names of runs. A last line that was cut off in mid-write is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.columns import Columns
from bayplan.analysis.simulation.results.libraries import arrow_table, library, require
from bayplan.analysis.sweeping.kept_figures import kept
from bayplan.analysis.sweeping.runs import RunOutcome
from bayplan.model.errors import Fault, InvalidObject

TABLE = "runs.parquet"
#: Outcomes that no Parquet file has yet.
RECENT = "recent.jsonl"
_PART = "part-{:05}.parquet"
_PARTS = "part-*.parquet"
PART_ROWS = 100
_HEAD = ("run", "error", "digest", "partial")


class RunStore:
    """A directory of outcomes; `found` has those of earlier, by run."""

    def __init__(self, folder: str | Path, *, resume: bool) -> None:
        """Raises InvalidObject if there are results already, unless they are to be completed."""
        require("pyarrow")
        self._folder = Path(folder)
        self._folder.mkdir(exist_ok=True)
        there = [path for path in (self._folder / TABLE, self._recent, *self._parts()) if path.exists()]
        if there and not resume:
            message = f"has results already ({there[0].name}); add to them with --resume, or choose another directory"
            raise InvalidObject([Fault(str(folder), "", "", message)])
        self.found: dict[str, RunOutcome] = {}
        if resume:
            self._load()
        self._tail: list[RunOutcome] = []
        self._rewrite_recent()

    def add(self, outcome: RunOutcome) -> None:
        """On disk when this returns."""
        with _naming(self._recent), self._recent.open("ab") as stream:
            stream.write(msgspec.json.encode(outcome) + b"\n")
        self._tail.append(outcome)
        if len(self._tail) >= PART_ROWS:
            self._write_part()

    def finish(self, table: Columns) -> None:
        """The whole table in one file, in place of all parts."""
        self._write(arrow_table(table), TABLE)
        for path in [*self._parts(), self._recent]:
            path.unlink(missing_ok=True)

    @property
    def _recent(self) -> Path:
        return self._folder / RECENT

    def _parts(self) -> list[Path]:
        return sorted(self._folder.glob(_PARTS))

    def _load(self) -> None:
        parquet: Any = import_module("pyarrow.parquet") if library("pyarrow") else None
        for path in (self._folder / TABLE, *self._parts()):
            if path.exists():
                for row in parquet.read_table(path).to_pylist():
                    outcome = _outcome(row)
                    self.found[outcome.run] = kept(outcome)
        for line in self._recent.read_bytes().splitlines() if self._recent.exists() else ():
            try:
                outcome = msgspec.json.decode(line, type=RunOutcome)
            except msgspec.DecodeError:
                break
            self.found[outcome.run] = kept(outcome)

    def _rewrite_recent(self) -> None:
        """Without a line that was cut off; what only this file has stays in it."""
        if not self._recent.exists():
            return
        complete = []
        for line in self._recent.read_bytes().splitlines():
            try:
                complete.append(msgspec.json.decode(line, type=RunOutcome))
            except msgspec.DecodeError:
                break
        self._tail = complete
        self._write_part()

    def _write_part(self) -> None:
        if self._tail:
            names = list(dict.fromkeys(name for outcome in self._tail for name in outcome.figures))
            table = {
                **{head: [getattr(outcome, head) for outcome in self._tail] for head in _HEAD},
                **{name: [outcome.figures.get(name) for outcome in self._tail] for name in names},
            }
            last = max((int(path.stem.partition("-")[2]) for path in self._parts()), default=0)
            self._write(library("pyarrow").table(table), _PART.format(last + 1))
        self._tail = []
        self._recent.unlink(missing_ok=True)

    def _write(self, table: Any, name: str) -> None:
        unfinished = self._folder / f".{name}.unfinished"
        try:
            with _naming(self._folder / name):
                import_module("pyarrow.parquet").write_table(table, unfinished)
                os.replace(unfinished, self._folder / name)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raises OSError with the name of the file: writing to a full disk does not say which."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        raise OSError(number, os.strerror(number) if number else str(error), str(path)) from error


def _outcome(row: dict[str, Any]) -> RunOutcome:
    """Of a row in a part, or in the whole table: figures come after all else."""
    names = list(row)
    figures = {name: row[name] for name in names[names.index(_HEAD[-1]) + 1 :] if row[name] is not None}
    return RunOutcome(row["run"], row["error"], row["digest"], bool(row["partial"]), figures)
