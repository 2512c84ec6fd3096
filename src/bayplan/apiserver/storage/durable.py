"""What is stored, in a SQLite file: every write is there before it is acknowledged.

Takes changes; keeps the objects as they stand, and the last changes for watchers that resume after a restart. The file
is in WAL mode with one transaction for each write: a process that is killed loses nothing that it had answered. A
machine that loses power may lose the last moments; nothing else is promised then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from bayplan.apiserver.storage.entries import Document, Entry, with_type
from bayplan.apiserver.storage.log import Change, ChangeLog
from bayplan.model.watch_types import DELETED
from bayplan.store.errors import InternalError
from bayplan.store.log import DEFAULT_CAPACITY

#: Of the tables below; a file of another one is refused.
FORMAT = 1
#: Old changes are dropped in stretches, so that a write costs the same on average.
_SWEEP_EVERY = 1_024

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

_decode = msgspec.json.Decoder(dict).decode


class InvalidState(Exception):  # noqa: N818 - as InvalidObject
    """The file cannot be used."""


class StateFile:
    """A SQLite file with the objects of a cluster."""

    def __init__(self, path: Path, *, log_capacity: int = DEFAULT_CAPACITY) -> None:
        self._log_capacity = log_capacity
        self._path = path
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
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=NORMAL")
        (found,) = execute("PRAGMA user_version").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == FORMAT:
            return
        if found or tables:
            raise InvalidState(f"{self._path}: not a state file of this version of bayplan")
        self._database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={FORMAT}; COMMIT;")

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
        document = _json_of(new)
        before = None if old is None else _json_of(old)
        execute("BEGIN")
        if change.type == DELETED:
            execute(_DELETE, (change.resource, new.namespace, new.name))
        else:
            execute(_UPSERT, (change.resource, new.namespace, new.name, new.version, document))
        old_version = None if old is None else old.version
        execute(_LOG, (change.version, change.type, change.resource, old_version, before, document))
        if change.version % _SWEEP_EVERY == 0:
            execute("DELETE FROM changes WHERE version <= ?", (change.version - self._log_capacity,))
        execute("COMMIT")

    def objects(self) -> Iterator[tuple[str, Entry]]:
        """Everything that is stored, with its resource. Raises InvalidState."""
        with self._readable():
            rows = self._database.execute("SELECT resource, namespace, name, version, document FROM objects")
            for resource, namespace, name, version, document in rows:
                yield resource, Entry(namespace, name, _decode(document), version)

    def log(self) -> ChangeLog:
        """The changes that are still there. Raises InvalidState."""
        with self._readable():
            rows = self._database.execute("SELECT * FROM changes ORDER BY version").fetchall()
            log = ChangeLog(self._log_capacity, version=rows[0][0] - 1 if rows else 0)
            for version, change_type, resource, old_version, before, after in rows:
                if version != log.version + 1:
                    raise ValueError(f"the change after version {log.version} is missing")
                old = None if before is None else _entry(_decode(before), old_version)
                log.append(Change(change_type, resource, old, _entry(_decode(after), version)))
            return log

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


def _json_of(entry: Entry) -> bytes:
    """The whole document, from the JSON that clients get as well."""
    return with_type(entry.body, entry.document["kind"], entry.document["apiVersion"])


def _entry(document: Document, version: int) -> Entry:
    metadata = document["metadata"]
    return Entry(metadata.get("namespace", ""), metadata["name"], document, version)
