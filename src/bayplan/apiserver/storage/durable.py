"""What is stored, in a SQLite file: every write is there before it is acknowledged.

Takes changes; keeps the objects as they stand, and the last changes for watchers that resume after a restart. The file
is in WAL mode with one transaction for each write: a process that is killed loses nothing that it had answered. A
machine that loses power may lose the last moments; nothing else is promised then. Space that deleted rows leave is
used for new ones, and given back to the file system little by little when there is a lot of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bayplan.apiserver.storage.entries import Document, Entry, decode_json
from bayplan.apiserver.storage.log import Change
from bayplan.model.watch_types import DELETED
from bayplan.store.errors import InternalError

#: Of the tables below; a file of another one is refused.
FORMAT = 1
#: Old changes are dropped in stretches of so many versions: cheaper than one by one, and no write waits for long.
SWEEP_EVERY = 64
#: Space is given back when more than one page in so many is free, and this many pages at a time.
_FREE_SHARE = 4
_PAGES_AT_ONCE = 256
#: A longer write-ahead log, as one large write leaves it, is cut back to this.
_WAL_BYTES_MAX = 8 * 1024 * 1024
_INCREMENTAL = 2

_FOREIGN = "not a state file of bayplan"
_BEGINNING = b"SQLite format 3\0"
#: How long to wait for another process that has the file, and may be about to end.
_LOCK_SECONDS = 1.0
#: The part of an error code that says what is wrong, without the details.
_PRIMARY_CODE = 0xFF
_REASONS = {
    sqlite3.SQLITE_BUSY: "in use by another process",
    sqlite3.SQLITE_NOTADB: _FOREIGN,
    sqlite3.SQLITE_CORRUPT: "damaged, and cannot be read",
}

_TABLES = """
CREATE TABLE objects (resource TEXT, namespace TEXT, name TEXT, version INTEGER, document BLOB,
                      PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE changes (version INTEGER PRIMARY KEY, type TEXT, resource TEXT, old_version INTEGER, old BLOB, new BLOB);
"""
_UPSERT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"
_LOG = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)"


class InvalidState(Exception):  # noqa: N818 - as InvalidObject
    """The file cannot be used."""


class StateFile:
    """A SQLite file with the objects of a cluster."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._swept = 0
        """Changes up to this version have been dropped."""
        _check_beginning(path)
        with self._readable():
            self._database = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            with self._readable():
                self._prepare()
        except InvalidState:
            self._database.close()
            raise

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turns what goes wrong inside into a message about the file."""
        try:
            yield
        except sqlite3.Error as error:
            reason = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE, str(error))
            raise InvalidState(f"{self._path}: {reason}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidState(f"{self._path}: damaged: {error}") from None

    def _prepare(self) -> None:
        execute = self._database.execute
        execute("PRAGMA locking_mode=EXCLUSIVE")
        execute("PRAGMA auto_vacuum=INCREMENTAL")  # a new file takes this only before anything is written
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=NORMAL")
        execute(f"PRAGMA journal_size_limit={_WAL_BYTES_MAX}")
        (found,) = execute("PRAGMA user_version").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == FORMAT:
            self._make_compactable()
            return
        if found or tables:
            raise InvalidState(f"{self._path}: not a state file of this version of bayplan")
        self._database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={FORMAT}; COMMIT;")

    def _make_compactable(self) -> None:
        """Rewrites a file of an earlier release, which could only grow."""
        (mode,) = self._database.execute("PRAGMA auto_vacuum").fetchone()
        if mode != _INCREMENTAL:
            with suppress(sqlite3.OperationalError):  # such as a full disk: the file is fine as it is
                self._database.executescript("PRAGMA auto_vacuum=INCREMENTAL; VACUUM;")

    def write(self, change: Change) -> None:
        """Returns once the change would survive the process; raises InternalError if it would not."""
        try:
            self._write(change)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise InternalError(f"{self._path} cannot be written: {error}") from error

    def _write(self, change: Change) -> None:
        execute, new, old = self._database.execute, change.new, change.old
        document = new.json
        before = None if old is None else old.json
        execute("BEGIN")
        if change.type == DELETED:
            execute(_DELETE, (change.resource, new.namespace, new.name))
        else:
            execute(_UPSERT, (change.resource, new.namespace, new.name, new.version, document))
        old_version = None if old is None else old.version
        execute(_LOG, (change.version, change.type, change.resource, old_version, before, document))
        execute("COMMIT")

    def expire(self, through: int) -> None:
        """Drops the changes up to this version, once there are enough of them. A failure is made good later."""
        if through - self._swept >= SWEEP_EVERY:
            with suppress(sqlite3.Error):
                self._database.execute("DELETE FROM changes WHERE version <= ?", (through,))
                self._swept = through

    def compact(self) -> bool:
        """Gives some free space back to the file system; False if there is little of it, or it cannot be done now."""
        with suppress(sqlite3.Error):
            (free,) = self._database.execute("PRAGMA freelist_count").fetchone()
            (pages,) = self._database.execute("PRAGMA page_count").fetchone()
            if free > max(_PAGES_AT_ONCE, pages // _FREE_SHARE):
                self._database.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
                return True
        return False

    def objects(self) -> Iterator[tuple[str, Entry]]:
        """Everything that is stored, with its resource. Raises InvalidState."""
        with self._readable():
            rows = self._database.execute("SELECT resource, namespace, name, version, document FROM objects")
            for resource, namespace, name, version, document in rows:
                yield resource, Entry(namespace, name, decode_json(document), version)

    def changes(self) -> Iterator[Change]:
        """Those that are still there, oldest first. Raises InvalidState."""
        with self._readable():
            rows = self._database.execute("SELECT * FROM changes ORDER BY version")
            last = None
            for version, change_type, resource, old_version, before, after in rows:
                if last is not None and version != last + 1:
                    raise ValueError(f"the change after version {last} is missing")
                old = None if before is None else _entry(decode_json(before), old_version)
                yield Change(change_type, resource, old, _entry(decode_json(after), version))
                last = version

    def close(self) -> None:
        self._database.close()


def _check_beginning(path: Path) -> None:
    """Raises InvalidState for a file of something else, which SQLite would overwrite if it is short."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_BEGINNING))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidState(f"{path}: {error.strerror}") from None
    if beginning not in (b"", _BEGINNING):
        raise InvalidState(f"{path}: {_FOREIGN}")


def _entry(document: Document, version: int) -> Entry:
    metadata = document["metadata"]
    return Entry(metadata.get("namespace", ""), metadata["name"], document, version)
