"""State files: what one process wrote, the next one finds."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.storage.durable import SWEEP_EVERY, InvalidState, StateFile
from bayplan.apiserver.storage.storage import Storage
from bayplan.store.errors import Gone, InternalError

MAPS = "configmaps"


def _document(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def _opened(path: Path, capacity: int = 1_000) -> tuple[Storage, StateFile]:
    state = StateFile(path)
    storage = Storage(log_capacity=capacity, durable=state)
    try:
        storage.restore(state.objects(), state.changes())
    except InvalidState:
        state.close()
        raise
    return storage, state


def test_the_next_process_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state")
    kept = storage.add(MAPS, _document("kept"))
    changed = storage.put(MAPS, kept, {**kept.document, "data": {"a": "1"}})
    storage.remove(MAPS, storage.add(MAPS, _document("gone")))
    state.close()
    again, state = _opened(tmp_path / "state")
    assert [entry.document for entry in again.entries(MAPS)] == [changed.document]
    assert again.version == 4
    assert [(change.type, change.new.name) for change in again.log.since(1)] == [
        ("MODIFIED", "kept"),
        ("ADDED", "gone"),
        ("DELETED", "gone"),
    ]
    assert again.add(MAPS, _document("new")).version == 5
    state.close()


def test_a_change_knows_what_was_before_it_in_the_next_process_too(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state")
    first = storage.add(MAPS, _document("m", a="1"))
    storage.put(MAPS, first, _document("m", a="2"))
    state.close()
    again, state = _opened(tmp_path / "state")
    assert [entry.document["data"] for entry in again.entries_at(MAPS, "", 1)] == [{"a": "1"}]
    state.close()


def test_the_log_in_the_file_is_bounded(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state", capacity=10)
    entry = storage.add(MAPS, _document("m"))
    for number in range(3_000):
        entry = storage.put(MAPS, entry, _document("m", a=str(number)))
    for table in ("changes", "documents"):
        assert state._database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] <= 11 + SWEEP_EVERY
    state.close()
    again, state = _opened(tmp_path / "state", capacity=10)
    assert len(again.log.since(again.log.expired)) == 10
    with pytest.raises(Gone):
        again.log.since(1)
    state.close()


def test_documents_go_with_the_last_row_that_needs_them(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state", capacity=2)
    kept = storage.add(MAPS, _document("kept"))
    for number in range(3 * SWEEP_EVERY):
        storage.remove(MAPS, storage.add(MAPS, _document(f"m{number}")))
    state.expire(storage.version + SWEEP_EVERY)
    versions = [row[0] for row in state._database.execute("SELECT version FROM documents")]
    assert versions == [kept.version]
    assert [entry.document for _, entry in state.objects()] == [kept.document]
    state.close()


def test_changes_that_cannot_be_dropped_now_are_dropped_later(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state")
    for number in range(2 * SWEEP_EVERY):
        storage.add(MAPS, _document(f"m{number}"))
    refusal = "SELECT RAISE(ABORT, 'disk full')"
    state._database.execute(f"CREATE TEMP TRIGGER full BEFORE DELETE ON changes BEGIN {refusal}; END")
    state.expire(SWEEP_EVERY)
    assert len([*state.changes()]) == 2 * SWEEP_EVERY
    state._database.execute("DROP TRIGGER full")
    state.expire(SWEEP_EVERY)
    assert len([*state.changes()]) == SWEEP_EVERY
    state.close()


def test_space_that_is_free_is_given_back_little_by_little(tmp_path: Path) -> None:
    path = tmp_path / "state"
    storage, state = _opened(path, capacity=10)
    entries = [storage.add(MAPS, _document(f"m{number}", text="x" * 5_000)) for number in range(2_000)]
    for entry in entries:
        storage.remove(MAPS, entry)
    sizes = [_pages(state)]
    while state.compact():
        sizes.append(_pages(state))
    assert all(0 < before - after < 200 for before, after in pairwise(sizes))
    assert len(sizes) > 5
    assert sizes[-1] < sizes[0] // 4
    state.close()
    assert path.stat().st_size == sizes[-1] * 4_096


def test_a_file_with_little_free_space_is_left_alone(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state")
    for number in range(100):
        storage.add(MAPS, _document(f"m{number}", text="x" * 5_000))
    assert not state.compact()
    state.close()


def _pages(state: StateFile) -> int:
    pages: int = state._database.execute("PRAGMA page_count").fetchone()[0]
    return pages


def test_a_file_of_the_format_before_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "state"
    document = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"default"},"data":{"a":"%s"}}'
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE objects (resource TEXT, namespace TEXT, name TEXT, version INTEGER, document BLOB,
                              PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
        CREATE TABLE changes (version INTEGER PRIMARY KEY, type TEXT, resource TEXT, old_version INTEGER,
                              old BLOB, new BLOB);
        PRAGMA user_version=1;
    """)
    database.execute("INSERT INTO objects VALUES ('configmaps', 'default', 'm', 4, ?)", (document % "4",))
    database.execute("INSERT INTO changes VALUES (3, 'MODIFIED', 'configmaps', 1, ?, ?)", (document % 1, document % 3))
    database.execute("INSERT INTO changes VALUES (4, 'MODIFIED', 'configmaps', 3, ?, ?)", (document % 3, document % 4))
    database.commit()
    database.close()
    for _ in range(2):
        storage, state = _opened(path)
        assert [entry.document["data"] for entry in storage.entries(MAPS)] == [{"a": "4"}]
        assert [entry.document["data"] for entry in storage.entries_at(MAPS, "", 2)] == [{"a": "1"}]
        assert (storage.version, storage.log.expired) == (4, 2)
        assert state._database.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        state.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"apiVersion: v1\nkind: Pod\n" * 100, "not a state file of bayplan"),
        (b"x", "not a state file of bayplan"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    with pytest.raises(InvalidState, match=f"{path}: {why}"):
        StateFile(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE cats (name TEXT)")
    database.close()
    with pytest.raises(InvalidState, match="not a state file of this version of bayplan"):
        StateFile(path)


def test_a_file_that_is_in_use_is_refused(tmp_path: Path) -> None:
    first = StateFile(tmp_path / "state")
    with pytest.raises(InvalidState, match="in use by another process"):
        StateFile(tmp_path / "state")
    first.close()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("UPDATE documents SET document = '{'", "damaged: "),
        ("UPDATE documents SET document = '[]'", "damaged: "),
        ("UPDATE documents SET document = '{}'", "damaged: 'metadata'"),
        ("DELETE FROM documents WHERE version = 2", "damaged: "),
        ("DELETE FROM changes WHERE version = 2", "damaged: the change after version 1 is missing"),
        ("DROP TABLE objects", "no such table: objects"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str, why: str) -> None:
    storage, state = _opened(tmp_path / "state")
    for name in ("a", "b", "c"):
        storage.add(MAPS, _document(name))
    state.close()
    database = sqlite3.connect(tmp_path / "state")
    database.execute(damage)
    database.commit()
    database.close()
    with pytest.raises(InvalidState, match=why):
        _opened(tmp_path / "state")


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    storage, state = _opened(path)
    for number in range(200):
        storage.add(MAPS, _document(f"m{number}", text="x" * 500))
    state.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
    with pytest.raises(InvalidState, match="damaged"):
        _opened(path)


def test_a_write_that_fails_is_not_acknowledged_and_leaves_nothing_behind(tmp_path: Path) -> None:
    storage, state = _opened(tmp_path / "state")
    refusal = "SELECT RAISE(ABORT, 'disk full')"
    state._database.execute(f"CREATE TEMP TRIGGER full BEFORE INSERT ON changes BEGIN {refusal}; END")
    with pytest.raises(InternalError, match="cannot be written: disk full"):
        storage.add(MAPS, _document("m"))
    assert (storage.entries(MAPS), storage.version) == ([], 0)
    state._database.execute("DROP TRIGGER full")
    assert storage.add(MAPS, _document("m")).version == 1
    state.close()


def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    storage, state = _opened(path)
    storage.add(MAPS, _document("m"))
    files = [path, path.with_name("state-wal")]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    state.close()
    path.chmod(0o644)
    _, state = _opened(path)
    assert path.stat().st_mode & 0o777 == 0o600
    state.close()
