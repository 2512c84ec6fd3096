"""Lists and watches of one kind against a scripted server: what is asked, what is delivered, what is reported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.support.live_server import Answer, Reply, ScriptedServer, Watch

from bayplan.client.backoff import RetryDelays
from bayplan.client.connection import Connection, address_of
from bayplan.client.http import HttpClient
from bayplan.client.reflector import Reflector
from bayplan.client.watched_kinds import watched_kind
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved

SELECTOR = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
FIRST = (
    f"/api/v1/pods?allowWatchBookmarks=true&{SELECTOR}&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
    "&timeout=7m30s&timeoutSeconds=450&watch=true"
)


def again(version: str) -> str:
    """The query of a streamed list that must not be older than what is known."""
    return FIRST.replace("&resourceVersionMatch", f"&resourceVersion={version}&resourceVersionMatch")


def resumed(version: str) -> str:
    return again(version).replace("&resourceVersionMatch=NotOlderThan&sendInitialEvents=true", "")


def listed(query: str) -> str:
    return f"/api/v1/pods?{query}"


def pod(name: str, version: int, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}


def added(name: str, version: int, **spec: Any) -> dict[str, Any]:
    return {"type": "ADDED", "object": pod(name, version, **spec)}


def modified(name: str, version: int, **spec: Any) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": pod(name, version, **spec)}


def deleted(name: str, version: int) -> dict[str, Any]:
    return {"type": "DELETED", "object": pod(name, version)}


def bookmark(version: int, *, ends_list: bool = False) -> dict[str, Any]:
    annotations = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    meta = {"resourceVersion": str(version), "annotations": annotations, "creationTimestamp": None}
    content = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": {"containers": None}, "status": {}}
    return {"type": "BOOKMARK", "object": content}


def failure(code: int, message: str = "no", reason: str = "") -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "message": message, "reason": reason}


def refused(code: int, message: str = "no") -> Reply:
    return Reply.of(failure(code, message), code)


def pod_list(version: int, *pods: dict[str, Any], continues: str = "") -> Reply:
    items = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in pods]
    meta = {"resourceVersion": str(version), "continue": continues}
    return Reply.of({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items})


def synced(*events: dict[str, Any], at: int = 10) -> Watch:
    """A list, and a watch that has said something."""
    return Watch(*events, bookmark(at, ends_list=True), bookmark(at))


class Host:
    """Notes what a reflector says."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.troubles: list[str] = []
        self.synced = self.refused = False

    def on_events(self, kind: str, events: Sequence[Event]) -> None:
        assert kind
        self.events += map(_in_short, events)

    def on_synced(self, kind: str) -> None:
        assert kind
        self.synced = True

    def on_refused(self, kind: str) -> None:
        assert kind
        self.refused = True

    def on_trouble(self, kind: str, message: str, cause: str = "") -> None:
        assert kind
        assert message.endswith(cause)
        self.troubles.append(message)


def _in_short(event: Event) -> str:
    match event:
        case ObjectAdded(new):
            return f"+{new.metadata.name}@{new.metadata.resource_version}"
        case ObjectChanged(old, new):
            return f"{new.metadata.name}@{old.metadata.resource_version}-{new.metadata.resource_version}"
        case ObjectRemoved(old):
            return f"-{old.metadata.name}@{old.metadata.resource_version}"
    raise AssertionError(event)


class CountedBackoff(RetryDelays):
    """Waits for no time at all, but counts."""

    count = 0

    def delay_s(self) -> float:
        self.count += 1
        return 0.0


class Stage:
    """A reflector that follows a scripted server."""

    def __init__(self, server: ScriptedServer, client: HttpClient, kind: str, silence_max_s: float) -> None:
        self.server = server
        self.host = Host()
        self.backoff = CountedBackoff()
        self.reflector = Reflector(
            client,
            watched_kind(kind),
            self.host,
            backoff=self.backoff,
            draw=lambda: 0.5,
            silence_max_s=silence_max_s,
        )

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.001)

    async def asked(self, *paths: str) -> None:
        """Waits until that was asked, and nothing else."""
        await self.server.until_received(len(paths))
        assert self.server.paths() == list(paths)


def play(
    script: Sequence[Answer],
    scene: Callable[[Stage], Awaitable[None]],
    kind: str = "Pod",
    silence_max_s: float = 150.0,
) -> None:
    async def run() -> None:
        async with ScriptedServer(script) as server:
            client = HttpClient(Connection(address_of(server.url)))
            stage = Stage(server, client, kind, silence_max_s)
            running = asyncio.ensure_future(stage.reflector.run())
            try:
                await scene(stage)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await client.close()

    asyncio.run(run())


def test_a_list_is_streamed_and_delivered_when_it_is_complete() -> None:
    watch = Watch(added("a", 3), added("b", 2))

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST)
        await watch.opened.wait()
        await asyncio.sleep(0.02)
        assert (stage.host.events, stage.host.synced) == ([], False)
        watch.send_line(bookmark(7, ends_list=True))
        await stage.until(lambda: stage.host.synced)
        assert stage.host.events == ["+a@3", "+b@2"]
        assert list(stage.reflector.known) == ["ns/a", "ns/b"]

    play([watch], scene)


def test_the_stream_of_the_list_goes_on_as_a_watch() -> None:
    watch = synced(added("a", 3))

    async def scene(stage: Stage) -> None:
        for line in (modified("a", 11), added("b", 12), deleted("a", 13), deleted("never", 14)):
            watch.send_line(line)
        await stage.until(lambda: len(stage.host.events) == 4)
        assert stage.host.events == ["+a@3", "a@3-11", "+b@12", "-a@11"]
        assert list(stage.reflector.known) == ["ns/b"]
        assert len(stage.server.received) == 1

    play([watch], scene)


def test_lines_may_arrive_in_pieces_and_several_at_once() -> None:
    watch = Watch()

    async def scene(stage: Stage) -> None:
        whole = b"".join(
            json.dumps(line).encode() + b"\n"
            for line in (added("a", 1), added("b", 2), bookmark(3, ends_list=True), added("c", 4))
        )
        for start in range(0, len(whole), 100):
            watch.send_bytes(whole[start : start + 100])
        await stage.until(lambda: len(stage.host.events) == 3)
        assert stage.host.events == ["+a@1", "+b@2", "+c@4"]

    play([watch], scene)


def test_a_watch_that_ends_goes_on_at_once_from_the_last_version() -> None:
    first, second = synced(added("a", 3)), Watch()
    first.send_line(modified("a", 11))
    first.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("11"))
        second.send_line(modified("a", 12))
        await stage.until(lambda: "a@11-12" in stage.host.events)
        assert stage.backoff.count == 0

    play([first, second], scene)


def test_a_bookmark_moves_the_version_on() -> None:
    first = synced()
    first.send_line(bookmark(99))
    first.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("99"))

    play([first, Watch()], scene)


@pytest.mark.parametrize("breaks", [Watch.cut, Watch.half_close])
def test_a_watch_that_breaks_goes_on_at_once_from_the_last_version(breaks: Callable[[Watch], None]) -> None:
    first = synced(added("a", 3))
    breaks(first)

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"))
        assert stage.backoff.count == 0

    play([first, Watch()], scene)


def test_a_watch_that_ends_at_once_without_a_word_counts_as_a_failure() -> None:
    first, second = synced(), Watch()
    first.end()
    second.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"), again("10"))
        assert stage.backoff.count == 1

    play([first, second, synced()], scene)


def test_a_list_is_nothing_that_the_watch_behind_it_has_said() -> None:
    first = Watch(added("a", 3), bookmark(10, ends_list=True))
    first.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, again("10"))
        assert stage.backoff.count == 1

    play([first, synced(added("a", 3))], scene)


@pytest.mark.parametrize("code", [410, 500, 503])
def test_a_refused_watch_leads_to_a_new_list_after_a_while(code: int) -> None:
    first = synced(added("a", 3), added("b", 4), added("c", 5))
    first.end()
    relist = synced(added("a", 3), added("b", 40), added("d", 41), at=50)

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"), again("10"))
        await stage.until(lambda: len(stage.host.events) == 6)
        assert stage.host.events[3:] == ["-c@5", "b@4-40", "+d@41"]
        assert stage.backoff.count == 1

    play([first, refused(code), relist], scene)


@pytest.mark.parametrize("code", [410, 500])
def test_an_error_in_the_stream_leads_to_a_new_list_after_a_while(code: int) -> None:
    first = synced(added("a", 3))
    first.send_line(added("b", 11))
    first.send_line({"type": "ERROR", "object": failure(code)})

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, again("11"))
        await stage.until(lambda: "-b@11" in stage.host.events)
        assert stage.host.events == ["+a@3", "+b@11", "-b@11"]
        assert stage.backoff.count == 1

    play([first, synced(added("a", 3))], scene)


def test_too_many_requests_are_only_repeated_later() -> None:
    first = synced()
    first.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"), resumed("10"))
        assert stage.backoff.count == 1

    play([first, refused(429), Watch()], scene)


@pytest.mark.parametrize("code", [400, 422, 500, 503])
def test_where_the_stream_is_refused_a_plain_list_is_asked_for_at_once(code: int) -> None:
    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, listed(f"{SELECTOR}&limit=500&resourceVersion=0"), resumed("20"))
        assert stage.host.events == ["+a@3"]
        assert stage.host.synced
        assert stage.backoff.count == 0

    play([refused(code), pod_list(20, pod("a", 3)), Watch()], scene)


def test_a_plain_list_after_a_gap_names_the_last_version_and_no_limit() -> None:
    first, second = synced(), Watch()
    first.end()
    second.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"), again("10"), listed(f"{SELECTOR}&resourceVersion=10"), resumed("20"))

    play([first, second, refused(500), pod_list(20), Watch()], scene)


def test_a_list_comes_page_by_page() -> None:
    pages = [pod_list(20, pod("a", 3), continues="more"), pod_list(20, pod("b", 4))]

    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.synced)
        assert stage.server.paths()[2] == listed(f"continue=more&{SELECTOR}&limit=500")
        assert stage.host.events == ["+a@3", "+b@4"]

    play([refused(400), *pages, Watch()], scene)


def test_a_page_that_has_expired_makes_the_list_one_piece() -> None:
    first_page, whole = pod_list(20, pod("old", 3), continues="more"), pod_list(30, pod("a", 4), pod("b", 5))

    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.synced)
        assert stage.server.paths()[3] == listed(f"{SELECTOR}&resourceVersion=0")
        assert stage.host.events == ["+a@4", "+b@5"]

    play([refused(400), first_page, refused(410), whole, Watch()], scene)


@pytest.mark.parametrize(
    "answer", [refused(410), refused(504, "Too large resource version: 10, current: 5")], ids=["old", "new"]
)
def test_a_list_from_a_version_that_the_server_does_not_have_is_asked_for_again_from_any(answer: Reply) -> None:
    first, second = synced(), Watch()
    first.end()
    second.end()

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("10"), again("10"), FIRST)
        assert stage.backoff.count == 1

    play([first, second, answer, synced()], scene)


def test_what_cannot_be_read_is_left_out_by_name_and_the_rest_goes_on() -> None:
    bad = added("bad", 4, containers=[{"name": "c", "resources": {"requests": {"cpu": "lots"}}}])
    worse = added("worse", 5, tolerations="all")

    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.synced)
        assert stage.host.events == ["+a@3", "+b@6"]
        first, second = stage.host.troubles
        assert first.startswith("Pod ns/bad is left out: spec.containers[0].resources.requests[cpu]")
        assert second.startswith("Pod ns/worse is left out: spec.tolerations")

    play([synced(added("a", 3), bad, worse, added("b", 6))], scene)


def test_what_cannot_be_read_any_more_is_kept_as_it_was_until_it_is_gone() -> None:
    watch = synced(added("a", 3))
    watch.send_line(modified("a", 11, tolerations="all"))
    watch.send_line({"type": "DELETED", "object": pod("a", 12, tolerations="all")})

    async def scene(stage: Stage) -> None:
        await stage.until(lambda: len(stage.host.events) == 2)
        assert stage.host.events == ["+a@3", "-a@3"]
        assert len(stage.host.troubles) == 1

    play([watch], scene)


@pytest.mark.parametrize("garbage", [b"garbage\n", b"[]\n", b'{"type": "ERROR", "object": 5}\n', b"\xff\xfe\n"])
def test_what_is_no_event_at_all_leads_to_a_new_list(garbage: bytes) -> None:
    first = synced(added("a", 3))
    first.send_bytes(garbage)

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, again("10"))
        await stage.until(lambda: "+b@20" in stage.host.events)
        assert stage.host.events == ["+a@3", "+b@20"]
        assert "the watch says what is no event" in stage.host.troubles[0]

    play([first, synced(added("a", 3), added("b", 20), at=21)], scene)


def test_what_is_no_list_is_reported_and_asked_for_again() -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.synced)
        assert "the answer is no list" in stage.host.troubles[0]

    play([refused(400), Reply.of([]), synced()], scene)


def test_nulls_are_as_good_as_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.synced)
        assert (stage.host.events, stage.host.troubles) == (["+a@3"], [])

    play([synced(added("a", 3, tolerations=None, containers=None))], scene)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (403, 'missing permission: verbs list and watch on csinodes in API group "storage.k8s.io"; going on without'),
        (404, 'the server does not have csinodes in API group "storage.k8s.io"'),
    ],
)
def test_a_kind_that_is_refused_is_named_and_may_be_done_without(code: int, says: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.host.refused)
        assert not stage.host.synced
        assert len(stage.host.troubles) == 1
        assert stage.host.troubles[0].startswith(says)

    # On a busy machine it asks more than once before the scene looks.
    play([refused(code)] * 100, scene, kind="CSINode")


def test_a_kind_that_was_refused_comes_when_it_is_allowed() -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: bool(stage.host.events))
        assert stage.host.events == ["+n@3"]
        assert len(stage.host.troubles) == 1
        assert stage.reflector.trouble == ""

    node = {"kind": "CSINode", "metadata": {"name": "n", "resourceVersion": "3"}}
    watch = Watch({"type": "ADDED", "object": node}, bookmark(5, ends_list=True))
    play([refused(403), refused(403), watch], scene, kind="CSINode")


def test_without_pods_nothing_is_complete() -> None:
    async def scene(stage: Stage) -> None:
        await stage.server.until_received(4)
        assert not stage.host.synced
        assert not stage.host.refused
        assert 'on pods in API group ""; waiting for it' in stage.host.troubles[0]
        assert stage.reflector.trouble == stage.host.troubles[0]

    play([refused(403)] * 4, scene)


def test_a_server_that_says_nothing_any_more_is_asked_again() -> None:
    first = synced()
    first.send_line(bookmark(11))

    async def scene(stage: Stage) -> None:
        await stage.asked(FIRST, resumed("11"))

    play([first, Watch()], scene, silence_max_s=0.5)


def test_a_server_that_is_not_there_is_waited_for() -> None:
    async def run() -> None:
        async with ScriptedServer([]) as server:
            url = server.url
        client = HttpClient(Connection(address_of(url)))
        host, backoff = Host(), CountedBackoff()
        running = asyncio.ensure_future(Reflector(client, watched_kind("Pod"), host, backoff=backoff).run())
        async with asyncio.timeout(60):
            while backoff.count < 3:
                await asyncio.sleep(0.001)
        running.cancel()
        assert len(host.troubles) == 1
        assert "connection refused" in host.troubles[0]

    asyncio.run(run())
