"""Watches: what is sent, from which version, and to whom."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, PODS, Api, config_map

from bayplan.apiserver.http import watching
from bayplan.apiserver.http.requests import StreamedAnswer
from bayplan.apiserver.storage.entries import Entry

SELECTED = "labelSelector=color%3Dred"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Watcher:
    """A client that watches, and reads all there is whenever it is asked."""

    def __init__(self, api: Api, query: str, path: str = CONFIG_MAPS, **headers: str) -> None:
        stream = api.ask("GET", f"{path}?watch=true&{query}", **headers)
        assert isinstance(stream, StreamedAnswer), stream
        self._pieces = stream.pieces
        self._next: asyncio.Task[bytes] | None = None
        self.is_over = False

    async def read(self) -> list[dict[str, Any]]:
        """The events since the last time."""
        found: list[dict[str, Any]] = []
        while not self.is_over:
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._pieces))
            done, _ = await asyncio.wait({self._next}, timeout=0.03)
            if not done:
                break
            try:
                found += [json.loads(line) for line in self._next.result().splitlines()]
            except StopAsyncIteration:
                self.is_over = True
            self._next = None
        return found

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait({self._next})
        await self._pieces.aclose()


def _short(events: list[dict[str, Any]]) -> list[str]:
    return [f"{event['type']} {event['object']['metadata'].get('name', '')}".strip() for event in events]


def _labeled(name: str, color: str) -> dict[str, Any]:
    return {**config_map(name), "metadata": {"name": name, "labels": {"color": color}}}


def _seen(before: list[str], query: str, after: list[tuple[str, str, Any]], capacity: int = 1_000) -> list[str]:
    """What a watch that is opened once some objects are there sees of later requests."""

    async def play() -> list[str]:
        api = Api(log_capacity=capacity)
        for name in before:
            api.post(CONFIG_MAPS, config_map(name))
        watcher = Watcher(api, query)
        seen = _short(await watcher.read())
        for method, path, body in after:
            media = "application/merge-patch+json" if method == "PATCH" else "application/json"
            assert api.call(method, f"{CONFIG_MAPS}{path}", body, media)[0] < 400
        seen += _short(await watcher.read())
        await watcher.close()
        return seen

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("", ["ADDED a", "ADDED b"]),
        ("resourceVersion=0", ["ADDED a", "ADDED b"]),
        ("resourceVersion=0&allowWatchBookmarks=true", ["ADDED a", "ADDED b", "BOOKMARK"]),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            ["ADDED a", "ADDED b", "BOOKMARK"],
        ),
        ("resourceVersion=12", ["ADDED b"]),
        ("resourceVersion=13", []),
        ("fieldSelector=metadata.name%3Db", ["ADDED b"]),
    ],
)
def test_where_a_watch_begins(query: str, seen: list[str]) -> None:
    api = Api()
    assert api.version == 11, "the first object below has version 12"
    assert _seen(["a", "b"], query, []) == seen


def test_changes_come_in_order() -> None:
    requests = [("POST", "", config_map("b")), ("PATCH", "/a", {"data": {"x": "1"}}), ("DELETE", "/a", None)]
    assert _seen(["a"], "resourceVersion=12", requests) == ["ADDED b", "MODIFIED a", "DELETED a"]


def test_a_write_that_changes_nothing_is_no_event() -> None:
    assert _seen(["a"], "resourceVersion=12", [("PATCH", "/a", {"data": {}})]) == []


def test_what_enters_a_selection_is_added_and_what_leaves_it_deleted() -> None:
    requests = [
        ("POST", "", _labeled("a", "red")),
        ("POST", "", _labeled("b", "blue")),
        ("PATCH", "/a", {"data": {"x": "1"}}),
        ("PATCH", "/b", {"metadata": {"labels": {"color": "red"}}}),
        ("PATCH", "/a", {"metadata": {"labels": {"color": "blue"}}}),
        ("PATCH", "/a", {"data": {"x": "2"}}),
        ("DELETE", "/b", None),
        ("DELETE", "/a", None),
    ]
    assert _seen([], SELECTED, requests) == ["ADDED a", "MODIFIED a", "ADDED b", "DELETED a", "DELETED b"]


def test_a_watch_from_a_version_that_is_forgotten_ends_with_an_error() -> None:
    async def play() -> None:
        api = Api(log_capacity=4)
        for number in range(20):
            api.post(CONFIG_MAPS, config_map(f"m{number}"))
        watcher = Watcher(api, "resourceVersion=1")
        (event,) = await watcher.read()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert event["object"]["message"].startswith("too old resource version: 1 (")
        assert watcher.is_over

    asyncio.run(play())


def test_a_client_that_resumes_from_its_last_version_misses_nothing() -> None:
    async def play() -> None:
        api, seen, last = Api(), [], "11"
        for part in range(4):
            watcher = Watcher(api, f"resourceVersion={last}")
            for number in range(3):
                api.post(CONFIG_MAPS, config_map(f"m{part}-{number}"))
            events = await watcher.read()
            await watcher.close()
            api.post(CONFIG_MAPS, config_map(f"m{part}-unseen"))
            seen += [event["object"]["metadata"]["name"] for event in events]
            last = events[-1]["object"]["metadata"]["resourceVersion"]
        names = [event["object"]["metadata"]["name"] for event in await Watcher(api, f"resourceVersion={last}").read()]
        expected = [f"m{part}-{what}" for part in range(4) for what in (0, 1, 2, "unseen")]
        assert seen + names == expected

    asyncio.run(play())


def test_a_quiet_watch_is_told_its_version_if_it_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.3)  # longer than a client waits for more

    async def play() -> None:
        api = Api()
        watcher = Watcher(api, "resourceVersion=11&allowWatchBookmarks=true")
        assert await watcher.read() == []
        api.post(PODS.replace("pods", "secrets"), {"metadata": {"name": "s"}})
        await asyncio.sleep(0.4)
        event = (await watcher.read())[-1]
        assert event["type"] == "BOOKMARK"
        assert event["object"] == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "12"}}
        await watcher.close()

    asyncio.run(play())


@pytest.mark.slow
def test_a_watch_ends_when_its_time_is_up() -> None:
    async def play() -> None:
        watcher = Watcher(Api(), "resourceVersion=11&timeoutSeconds=1")
        await watcher.read()
        await asyncio.sleep(1.1)
        await watcher.read()
        assert watcher.is_over

    asyncio.run(play())


def test_a_watch_of_tables_has_columns_in_its_first_event_only() -> None:
    async def play() -> None:
        api = Api()
        watcher = Watcher(api, "resourceVersion=11", accept=TABLE)
        for name in ("a", "b"):
            api.post(CONFIG_MAPS, config_map(name))
        tables = [event["object"] for event in await watcher.read()]
        assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]
        assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
        await watcher.close()

    asyncio.run(play())


def test_an_event_is_encoded_once_however_many_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def object_bytes(entry: Entry, _resource: object) -> bytes:
        made.append(entry)
        return b"{}"

    monkeypatch.setattr(watching, "object_bytes", object_bytes)

    async def play() -> None:
        api = Api()
        watchers = [Watcher(api, "resourceVersion=11") for _ in range(20)]
        for watcher in watchers:
            await watcher.read()
        api.post(CONFIG_MAPS, config_map("a"))
        assert [len(await watcher.read()) for watcher in watchers] == [1] * 20
        for watcher in watchers:
            await watcher.close()

    asyncio.run(play())
    assert len(made) == 1


@pytest.mark.parametrize(
    ("query", "status", "fault"),
    [
        ("resourceVersion=abc", 500, 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ("resourceVersion=99999999999999999999", 500, "value out of range"),
        ("resourceVersionMatch=Exact", 422, "is forbidden for watch unless sendInitialEvents is provided"),
        ("sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("labelSelector=a%20in", 400, "unable to parse requirement"),
        ("fieldSelector=data.a%3Db", 400, '"data.a" is not a known field selector'),
        ("timeoutSeconds=x", 400, "invalid syntax"),
    ],
)
def test_a_watch_that_cannot_be_is_refused(query: str, status: int, fault: str) -> None:
    found, words = Api().refusal("GET", f"{CONFIG_MAPS}?watch=true&{query}")
    assert (found, fault in words) == (status, True), words


@pytest.mark.parametrize(
    ("accept", "kind"),
    [(TABLE, "Table"), (TABLE.replace("as=Table", "as=PartialObjectMetadata"), "PartialObjectMetadata")],
)
def test_a_bookmark_has_the_form_of_other_events(accept: str, kind: str) -> None:
    async def check() -> None:
        api = Api()
        query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
        watcher = Watcher(api, query, accept=accept)
        (bookmark,) = await watcher.read()
        await watcher.close()
        assert (bookmark["type"], bookmark["object"]["kind"]) == ("BOOKMARK", kind)
        shown = bookmark["object"]["rows"][0]["object"] if kind == "Table" else bookmark["object"]
        assert shown["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    asyncio.run(check())


def test_what_is_there_is_sent_in_pieces_and_then_what_changed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PIECE_SECONDS", 0)

    async def check() -> None:
        api = Api()
        for number in range(5):
            api.post(CONFIG_MAPS, config_map(f"m{number}"))
        stream = api.ask("GET", f"{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion=0", accept=TABLE)
        assert isinstance(stream, StreamedAnswer)
        first = [json.loads(line) for line in (await anext(stream.pieces)).splitlines()]
        assert len(first) == 1
        api.delete(f"{CONFIG_MAPS}/m0")
        rest: list[dict[str, Any]] = []
        while not rest or rest[-1]["type"] != "DELETED":
            rest += [json.loads(line) for line in (await anext(stream.pieces)).splitlines()]
        await stream.pieces.aclose()
        assert [event["type"] for event in rest] == ["ADDED"] * 4 + ["BOOKMARK", "DELETED"]
        assert [bool(event["object"]["columnDefinitions"]) for event in (*first, *rest)] == [True, *[False] * 6]
        versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in rest]
        assert versions == sorted(versions)

    asyncio.run(check())


def test_what_has_changed_since_a_version_is_sent_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PIECE_SECONDS", 0)

    async def check() -> None:
        api = Api()
        version = api.post(CONFIG_MAPS, config_map("first"))["metadata"]["resourceVersion"]
        for number in range(3):
            api.post(CONFIG_MAPS, config_map(f"m{number}"))
        stream = api.ask("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={version}&fieldSelector=metadata.name!=m1")
        assert isinstance(stream, StreamedAnswer)
        names = [_only_name(await anext(stream.pieces))]
        api.post(CONFIG_MAPS, config_map("last"))
        names += [_only_name(await anext(stream.pieces)) for _ in range(2)]
        await stream.pieces.aclose()
        assert names == ["m0", "m2", "last"]

    asyncio.run(check())


def _only_name(piece: bytes) -> str:
    (line,) = piece.splitlines()
    return str(json.loads(line)["object"]["metadata"]["name"])
