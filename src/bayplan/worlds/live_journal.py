"""The journal of a live scheduler: one file, or files in a directory that take turns.

Takes what the loop observes and decides; writes it as `journal` reads it. A file of a directory that has become large
is followed by the next, which begins with all objects as they are known then, so that it can be replayed without those
before it. Replayed in order the files are one journal, and these objects are skipped. The oldest files are deleted when
there are too many. Alone, a later file knows nothing of backoffs, nominations and bindings that were under way: what it
decides for such pods may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from bayplan.core.actions import Action
from bayplan.core.decision import Decision
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object, object_key
from bayplan.worlds.driving import rank_of
from bayplan.worlds.journal import JournalWriter

BYTES_PER_MB = 1_000_000
_PATTERN = "journal-*.jsonl"


class LiveJournal:
    """An observer that writes everything down. Lines are on disk, or with the system, when a call returns."""

    def __init__(
        self,
        path: str,
        head: Mapping[str, Any],
        *,
        file_bytes: int,
        files_max: int,
        on_trouble: Callable[[str], None],
    ) -> None:
        """`path` is a directory if there is one, or if it ends with a slash."""
        self._on_trouble = on_trouble
        self._has_ended = False
        self._head = dict(head)
        self._folder = Path(path) if Path(path).is_dir() or path.endswith("/") else None
        self._file_bytes = file_bytes
        self._files_max = files_max
        self._known: dict[tuple[str, str], Object] = {}
        self._part = 0
        self._number = 0
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._number = max(map(_number, journal_files(self._folder)), default=0)
        self._out, self._writer = self._open(Path(path))

    def observed(self, event: Event, now: int) -> None:
        self._try(lambda: self._note(event, now))

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:  # noqa: ARG002
        self._try(lambda: self._writer.decision(decision, now))

    def extender_answered(self, answer: dict[str, Any], now: int) -> None:
        """For the decision that is being made, in another thread: nothing else is written meanwhile."""
        self._try(lambda: self._writer.extender_answer(answer, now))

    def _try(self, write: Callable[[], None]) -> None:
        """A journal with a gap is of no use, and a full disk is no reason to stop scheduling."""
        if self._has_ended:
            return
        try:
            write()
        except OSError as error:
            self._has_ended = True
            self._on_trouble(f"the journal ends here: {error.strerror or error}")

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        """Answers come as events."""

    def close(self) -> None:
        self._out.close()

    def _note(self, event: Event, now: int) -> None:
        self._writer.event(event, now)
        if self._folder is not None:
            self._remember(event)
            self._turn_over_if_large(now)

    def _remember(self, event: Event) -> None:
        match event:
            case ObjectAdded(new) | ObjectChanged(_, new):
                self._known[type(new).__name__, object_key(new)] = new
            case ObjectRemoved(old):
                self._known.pop((type(old).__name__, object_key(old)), None)

    def _turn_over_if_large(self, now: int) -> None:
        if self._writer.size < self._file_bytes:
            return
        assert self._folder is not None
        self._out.close()
        self._out, self._writer = self._open(self._folder)
        for obj in in_order(self._known.values()):
            self._writer.known(obj, now)
        self._file_bytes = max(self._file_bytes, 2 * self._writer.size)  # more than what every file begins with
        self._delete_oldest()

    def _open(self, path: Path) -> tuple[TextIO, JournalWriter]:
        self._part += 1
        if self._folder is not None:
            self._number += 1
            path = self._folder / f"journal-{self._number:06}.jsonl"
        out = path.open("w", encoding="utf-8", buffering=1)
        return out, JournalWriter(out, {**self._head, "part": self._part})

    def _delete_oldest(self) -> None:
        assert self._folder is not None
        for file in journal_files(self._folder)[: -self._files_max]:
            file.unlink(missing_ok=True)


def journal_files(folder: Path) -> list[Path]:
    """In the order in which they were written."""
    return sorted(folder.glob(_PATTERN), key=_number)


def _number(file: Path) -> int:
    digits = file.stem.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def in_order(objects: Iterable[Object]) -> list[Object]:
    """What pods refer to first."""
    return sorted(objects, key=rank_of)
