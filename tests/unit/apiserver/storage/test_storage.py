"""Documents with versions, and those who follow them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.storage.entries import Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.apiserver.storage.storage import Storage
from bayplan.store.errors import BadRequest, Gone

MAPS = "configmaps"


def _document(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace}, "data": data}


def _names(storage: Storage, namespace: str = "") -> list[str]:
    return [entry.key for entry in storage.entries(MAPS, namespace)]


def test_each_write_has_the_next_version_whatever_its_resource() -> None:
    storage = Storage()
    first = storage.add(MAPS, _document("a"))
    storage.add("secrets", _document("s"))
    second = storage.put(MAPS, first, _document("a", x="1"))
    gone = storage.remove(MAPS, second)
    assert [first.version, second.version, gone.version, storage.version] == [1, 3, 4, 4]
    assert gone.document["metadata"]["resourceVersion"] == "4"


def test_what_is_written_is_not_the_document_that_was_given() -> None:
    storage, given = Storage(), _document("a")
    entry = storage.add(MAPS, given)
    assert "resourceVersion" not in given["metadata"]
    assert entry.document["metadata"]["resourceVersion"] == "1"


def test_lists_are_in_the_order_of_namespace_and_name() -> None:
    storage = Storage()
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "b"), ("a-b", "a")):
        storage.add(MAPS, _document(name, namespace))
    assert _names(storage) == ["a-b/a", "a/b", "a/z", "b/x"]
    assert _names(storage, "a") == ["a/b", "a/z"]
    storage.add(MAPS, _document("c", "a"))
    assert _names(storage, "a") == ["a/b", "a/c", "a/z"]


def test_the_past_is_listed_as_it_was() -> None:
    storage = Storage()
    storage.add(MAPS, _document("a", x="1"))
    b = storage.add(MAPS, _document("b"))
    a = storage.find(MAPS, "default", "a")
    assert a is not None
    storage.put(MAPS, a, _document("a", x="2"))
    storage.remove(MAPS, b)
    storage.add(MAPS, _document("c"))
    pasts = [[(entry.name, entry.document["data"]) for entry in storage.entries_at(MAPS, "", at)] for at in range(6)]
    assert pasts == [
        [],
        [("a", {"x": "1"})],
        [("a", {"x": "1"}), ("b", {})],
        [("a", {"x": "2"}), ("b", {})],
        [("a", {"x": "2"})],
        [("a", {"x": "2"}), ("c", {})],
    ]


def test_a_past_that_the_log_has_lost_is_gone() -> None:
    storage = Storage(log_capacity=4)
    for number in range(20):
        storage.add(MAPS, _document(f"m{number}"))
    with pytest.raises(Gone, match=r"too old resource version: 2 \(\d+\)"):
        storage.entries_at(MAPS, "", 2)
    assert len(storage.entries_at(MAPS, "", 19)) == 19


def test_followers_hear_of_their_resource_until_they_stop() -> None:
    storage = Storage()
    of_maps: list[str] = []
    of_all: list[str] = []
    stop = storage.follow(lambda change: of_maps.append(f"{change.type} {change.new.name}"), MAPS)
    storage.follow(lambda change: of_all.append(change.new.name))
    entry = storage.add(MAPS, _document("a"))
    storage.add("secrets", _document("s"))
    storage.remove(MAPS, entry)
    stop()
    storage.add(MAPS, _document("b"))
    assert of_maps == ["ADDED a", "DELETED a"]
    assert of_all == ["a", "s", "a", "b"]


def test_a_change_that_is_refused_beforehand_is_not_made() -> None:
    storage = Storage()

    def refuse(_change: DocumentChange) -> None:
        raise BadRequest("no")

    storage.prepare = refuse
    with pytest.raises(BadRequest):
        storage.add(MAPS, _document("a"))
    assert (storage.version, _names(storage)) == (0, [])


def _is_packed(entry: Entry) -> bool:
    """Whether its document is decoded each time."""
    return entry.document is not entry.document


def test_what_is_only_in_the_log_is_kept_as_json() -> None:
    storage = Storage()
    seen: list[Any] = []
    storage.follow(lambda change: seen.append(change.old is not None and _is_packed(change.old)))
    first = storage.add(MAPS, _document("a", x="1"))
    second = storage.put(MAPS, first, _document("a", x="2"))
    assert (_is_packed(first), _is_packed(second)) == (True, False)
    gone = storage.remove(MAPS, second)
    assert _is_packed(second)
    assert _is_packed(gone)
    assert seen == [False, False, False]
    assert [change.new.document["data"] for change in storage.log.since(0)] == [{"x": "1"}, {"x": "2"}, {"x": "2"}]
