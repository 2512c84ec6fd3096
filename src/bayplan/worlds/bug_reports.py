"""What is left of an unexpected exception that a process has survived: a log line, a count, and a journal.

Takes exceptions from wherever they are caught. The first of each kind is logged with its traceback and gets a journal
with what happened before it, in a directory that only its owner may read; those after it get a line. Journals are
written by a thread, few, and never too large. Nothing here raises.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from bayplan.core.scheduler import Scheduler
from bayplan.worlds.guarded import GuardedScheduler
from bayplan.worlds.ledger import Ledger
from bayplan.worlds.recent_journal import RecentJournal

#: The oldest are deleted when there are more, also those of earlier processes.
FILES_MAX = 10
FILE_BYTES_MAX = 256_000_000
_PATTERN = "bug-*.jsonl"
_SURVIVED = "Survived an unexpected exception. This is a bug: please report it"

#: Writes a line to the log, with fields.
Log = Callable[..., object]


class BugReports:
    """One for each process. A `BugReporter`."""

    def __init__(self, log: Log, head: Mapping[str, Any], folder: Path | None = None) -> None:
        """`head` is that of the journals. Without a folder it is one in the system's for temporary files."""
        self._log = log
        self._head = head
        self._folder = folder or Path(tempfile.gettempdir()) / f"bayplan-bugs-{os.getuid()}"
        self._recent: RecentJournal | None = None
        self.counts: Counter[tuple[str, ...]] = Counter()  # by where they were caught
        self._kinds: set[tuple[object, ...]] = set()
        self._writing: threading.Thread | None = None

    def guard(self, scheduler: Scheduler, started_at: int) -> GuardedScheduler:
        """The scheduler of the process, which began at that time; what it does is what journals are made of."""
        ledger = Ledger()
        self._recent = RecentJournal({**self._head, "startedAt": started_at}, ledger.known)
        return GuardedScheduler(scheduler, self, ledger=ledger, history=self._recent)

    def extender_answered(self, answer: dict[str, Any], now: int) -> None:
        """For the decision that is being made."""
        if self._recent is not None:
            self._recent.extender_answer(answer, now)

    def __call__(self, where: str, about: str, error: Exception, /) -> None:
        self.counts[where,] += 1
        fields: dict[str, Any] = {"err": f"{type(error).__name__}: {error}", "where": where}
        if about:
            fields["object"] = about
        if not self._is_new(error):
            self._log(_SURVIVED, **fields)
            return
        fields["traceback"] = "".join(traceback.format_exception(error))
        if self._recent is None:
            self._log(_SURVIVED, **fields)
            return
        path = self._folder / f"bug-{time.time_ns()}.jsonl"
        self._log(_SURVIVED, **fields, journal=str(path))
        self._write_later(self._recent.copy(), path)

    def finish(self) -> None:
        """Returns when the journals are written."""
        if self._writing is not None:
            self._writing.join()

    def _is_new(self, error: Exception) -> bool:
        """Whether nothing of the kind was raised at the same place before."""
        frames = traceback.extract_tb(error.__traceback__)
        kind = (type(error).__name__, *((frames[-1].filename, frames[-1].lineno) if frames else ()))
        is_new = kind not in self._kinds
        self._kinds.add(kind)
        return is_new

    def _write_later(self, journal: RecentJournal, path: Path) -> None:
        before = self._writing

        def write() -> None:
            if before is not None:
                before.join()
            self._write(journal, path)

        self._writing = threading.Thread(target=write, name="bug journal")
        self._writing.start()

    def _write(self, journal: RecentJournal, path: Path) -> None:
        try:
            _make_private(self._folder)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                journal.write(_Limited(out))  # type: ignore[arg-type]
            for file in sorted(self._folder.glob(_PATTERN))[:-FILES_MAX]:
                file.unlink(missing_ok=True)
        except Exception as error:
            path.unlink(missing_ok=True)
            self._log("The journal of a bug could not be written", err=str(error), journal=str(path))


def _make_private(folder: Path) -> None:
    """Raises OSError if somebody else could read or replace what is in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise OSError(f"{folder} is not a directory that only its owner can write to")


class _Limited:
    """A file that does not become too large."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._left = FILE_BYTES_MAX

    def write(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise OSError(f"it would be larger than {FILE_BYTES_MAX // 1_000_000} MB")
        self._out.write(text)
