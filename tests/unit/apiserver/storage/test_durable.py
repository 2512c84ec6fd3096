"""State files: what one process wrote, the next one finds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.storage.durable import InvalidState, StateFile
from bayplan.apiserver.storage.storage import Storage
from bayplan.store.errors import Gone, InternalError

MAPS = "configmaps"


def _document(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def _opened(path: Path, capacity: int = 1_000) -> tuple[Storage, StateFile]:
    state = StateFile(path)
    storage = Storage(log_capacity=capacity, durable=state)
    storage.restore(state.objects(), state.changes())
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
    state.close()
    again, state = _opened(tmp_path / "state", capacity=10)
    assert len(again.log.since(again.log.expired)) <= 10 + 1_024
    with pytest.raises(Gone):
        again.log.since(1)
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
        ("UPDATE objects SET document = '{'", "damaged: "),
        ("UPDATE changes SET new = '[]'", "damaged: "),
        ("UPDATE changes SET new = '{}'", "damaged: 'metadata'"),
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
