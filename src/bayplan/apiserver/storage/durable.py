"""What is stored, in a SQLite file: every write is there before it is acknowledged.

Takes changes; keeps the objects as they stand, and the last changes for watchers that resume after a restart. The file
is in WAL mode with one transaction for each write: a process that is killed loses nothing that it had answered. A
machine that loses power may lose the last moments; nothing else is promised then. Space that deleted rows leave is
used for new ones, and given back to the file system little by little when there is a lot of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bayplan.apiserver.storage.entries import Document, Entry, decode_json
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import DELETED
from bayplan.store.errors import InternalError

#: Of the tables below; a file of the format before is converted, any other is refused.
FORMAT = 2
#: Old changes are dropped in stretches of this many versions: cheaper than one by one, and no write waits for long.
SWEEP_EVERY = 64
#: Space is given back when more than one page in this many is free, and this many pages at a time.
_FREE_SHARE = 4
_PAGES_AT_ONCE = 128
#: A longer write-ahead log, as one large write leaves it, is cut back to this.
_WAL_BYTES_MAX = 8 * 1024 * 1024

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

#: A document is there once, however many rows name its version: it is large, they are small.
_TABLES = """
CREATE TABLE documents (version INTEGER PRIMARY KEY, document BLOB);
CREATE TABLE objects (resource TEXT, namespace TEXT, name TEXT, version INTEGER,
                      PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE changes (version INTEGER PRIMARY KEY, type TEXT, resource TEXT, old_version INTEGER);
"""
#: From the format in which objects and changes had documents of their own.
_CONVERSION = f"""
ALTER TABLE objects RENAME TO old_objects;
ALTER TABLE changes RENAME TO old_changes;
{_TABLES}
INSERT INTO documents SELECT version, document FROM old_objects;
INSERT OR IGNORE INTO documents SELECT version, new FROM old_changes;
INSERT OR IGNORE INTO documents SELECT old_version, old FROM old_changes WHERE old_version IS NOT NULL;
INSERT INTO objects SELECT resource, namespace, name, version FROM old_objects;
INSERT INTO changes SELECT version, type, resource, old_version FROM old_changes;
DROP TABLE old_objects;
DROP TABLE old_changes;
"""
_PRIVATE = 0o600
_WRITE = "INSERT INTO documents VALUES (?, ?)"
_UPSERT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)"
_DELETE = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"
_LOG = "INSERT INTO changes VALUES (?, ?, ?, ?)"
#: After a change has gone, only its old document, or that of a deleted object, may be needed by nothing else.
_SWEEP = f"""
DELETE FROM documents WHERE version IN (
    SELECT CASE type WHEN '{DELETED}' THEN version END FROM changes WHERE version <= :through
    UNION ALL SELECT old_version FROM changes WHERE version <= :through)
"""
_OBJECTS = "SELECT resource, namespace, name, version, document FROM objects LEFT JOIN documents USING (version)"
_CHANGES = """
SELECT changes.version, type, resource, old_version, old.document, new.document FROM changes
LEFT JOIN documents AS old ON old.version = old_version
LEFT JOIN documents AS new ON new.version = changes.version
ORDER BY changes.version
"""


class InvalidState(Exception):  # noqa: N818 - as InvalidObject
    """The file cannot be used."""


class StateFile:
    """A SQLite file with the objects of a cluster."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._swept = 0
        """Changes up to this version have been dropped."""
        _check_beginning(path)
        _keep_private(path)
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
            return
        if found != FORMAT - 1 and (found or tables):
            raise InvalidState(f"{self._path}: not a state file of this version of bayplan")
        statements = _CONVERSION if found else _TABLES
        self._database.executescript(f"BEGIN; {statements} PRAGMA user_version={FORMAT}; COMMIT;")
        if found:
            # A file of that format could only grow. One that cannot be rewritten now, as the disk is full, still works.
            with suppress(sqlite3.OperationalError):
                self._database.executescript("PRAGMA auto_vacuum=INCREMENTAL; VACUUM;")

    def write(self, change: DocumentChange) -> None:
        """Returns once the change would survive the process; raises InternalError if it would not."""
        try:
            self._write(change)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise InternalError(f"{self._path} cannot be written: {error}") from error

    def _write(self, change: DocumentChange) -> None:
        execute, new = self._database.execute, change.new
        execute("BEGIN")
        execute(_WRITE, (new.version, new.json))
        if change.type == DELETED:
            execute(_DELETE, (change.resource, new.namespace, new.name))
        else:
            execute(_UPSERT, (change.resource, new.namespace, new.name, new.version))
        old_version = None if change.old is None else change.old.version
        execute(_LOG, (change.version, change.type, change.resource, old_version))
        execute("COMMIT")

    def expire(self, through: int) -> None:
        """Drops the changes up to this version, once there are enough of them. A failure is made good later."""
        if through - self._swept < SWEEP_EVERY:
            return
        execute = self._database.execute
        try:
            execute("BEGIN")
            execute(_SWEEP, {"through": through})
            execute("DELETE FROM changes WHERE version <= ?", (through,))
            execute("COMMIT")
            self._swept = through
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                execute("ROLLBACK")

    def compact(self) -> bool:
        """Gives some free space back to the file system; False if there is little of it, or it cannot be done now."""
        with suppress(sqlite3.Error):
            (free,) = self._database.execute("PRAGMA freelist_count").fetchone()
            (pages,) = self._database.execute("PRAGMA page_count").fetchone()
            if free > max(_PAGES_AT_ONCE, pages // _FREE_SHARE):
                # As a script: a single statement would be left after its first page.
                self._database.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
                return True
        return False

    def objects(self) -> Iterator[tuple[str, Entry]]:
        """Everything that is stored, with its resource. Raises InvalidState."""
        with self._readable():
            for resource, namespace, name, version, document in self._database.execute(_OBJECTS):
                yield resource, Entry(namespace, name, decode_json(document), version)

    def changes(self) -> Iterator[DocumentChange]:
        """Those that are still there, oldest first. Raises InvalidState."""
        with self._readable():
            last = None
            for version, change_type, resource, old_version, before, after in self._database.execute(_CHANGES):
                if last is not None and version != last + 1:
                    raise ValueError(f"the change after version {last} is missing")
                old = None if old_version is None else _entry(decode_json(before), old_version)
                yield DocumentChange(change_type, resource, old, _entry(decode_json(after), version))
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


def _keep_private(path: Path) -> None:
    """Lets nobody else read the file, which has Secrets in it; what SQLite puts beside it gets the same mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE))
        for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                file.chmod(_PRIVATE)
    except OSError as error:
        raise InvalidState(f"{path}: {error.strerror}") from None


def _entry(document: Document, version: int) -> Entry:
    metadata = document["metadata"]
    return Entry(metadata.get("namespace", ""), metadata["name"], document, version)
