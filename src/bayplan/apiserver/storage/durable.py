"""What is stored, in a SQLite file: every write is there before it is acknowledged.

Takes changes; keeps the objects as they stand, and the last changes for watchers that resume after a restart. The file
is in WAL mode with one transaction for each write: a process that is killed loses nothing that it had answered. A
machine that loses power may lose the last moments; nothing else is promised then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bayplan.apiserver.storage.entries import Document, Entry, encode_json
from bayplan.apiserver.storage.log import Change, ChangeLog
from bayplan.store.log import DEFAULT_CAPACITY, DELETED

#: Of the tables below; a file of another one is refused.
FORMAT = 1
#: Old changes are dropped in stretches, so that a write costs the same on average.
_SWEEP_EVERY = 1_024

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
        try:
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare(path)
        except sqlite3.Error as error:
            raise InvalidState(f"{path}: {error}") from None

    def _prepare(self, path: Path) -> None:
        execute = self._database.execute
        execute("PRAGMA locking_mode=EXCLUSIVE")
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=NORMAL")
        (found,) = execute("PRAGMA user_version").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == FORMAT:
            return
        if found or tables:
            raise InvalidState(f"{path}: not a state file of this version of bayplan")
        self._database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={FORMAT}; COMMIT;")

    def write(self, change: Change) -> None:
        """Returns once the change would survive the process."""
        execute, new, old = self._database.execute, change.new, change.old
        document = encode_json(new.document)
        before = None if old is None else encode_json(old.document)
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
        """Everything that is stored, with its resource."""
        rows = self._database.execute("SELECT resource, namespace, name, version, document FROM objects")
        for resource, namespace, name, version, document in rows:
            yield resource, Entry(namespace, name, _decode(document), version)

    def log(self) -> ChangeLog:
        """The changes that are still there."""
        rows = self._database.execute("SELECT * FROM changes ORDER BY version").fetchall()
        log = ChangeLog(self._log_capacity, version=rows[0][0] - 1 if rows else 0)
        for version, change_type, resource, old_version, before, after in rows:
            old = None if before is None else _entry(_decode(before), old_version)
            log.append(Change(change_type, resource, old, _entry(_decode(after), version)))
        return log

    def close(self) -> None:
        self._database.close()


def _entry(document: Document, version: int) -> Entry:
    metadata = document["metadata"]
    return Entry(metadata.get("namespace", ""), metadata["name"], document, version)
