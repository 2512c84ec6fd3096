"""The live world: when it decides, what it delivers first, and a whole scheduler over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.virtual_time import run_virtually

from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient, LostError, Response, Stream
from bayplan.client.watched_kinds import kinds_to_watch, watched_kind
from bayplan.client.writes import Limits, Writer
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Bind
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, Event, ObjectAdded
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing import LiveCluster, cluster
from bayplan.testing.builders import budget, namespace, node, pod
from bayplan.worlds.live import UNANSWERED_BINDINGS_MAX, LiveWorld, SystemClock

NODE, POD, NAMESPACE = node("n").obj(), pod("p").obj(), namespace("ns").obj()


async def until(holds: Callable[[], Any], timeout_s: float = 60.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not holds():
            await asyncio.sleep(0.005)


# ---------------------------------------------------------------------- alone


class Silence:
    """A server that never answers."""

    async def request(self, *_: Any, **__: Any) -> Response:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")

    @asynccontextmanager
    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Stream]:
        await asyncio.Event().wait()
        yield None  # type: ignore[misc]


class Endless:
    """A scheduler that always has another pod to bind."""

    def __init__(self) -> None:
        self.observed: list[Event] = []
        self.decided = 0

    def observe(self, event: Event, now: int) -> None:
        self.observed.append(event)

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None:
        self.decided += 1
        bind = Bind(f"ns/{self.decided}", str(self.decided), "n")
        return Decision(bind.pod, Outcome.ASSUMED, "n", actions=(bind,))

    def due_at(self, now: int) -> int | None:
        return now


class Deaf:
    """Performs nothing."""

    def perform_all(self, actions: Sequence[Action], now: int) -> None:
        pass


def play_alone(
    scene: Callable[[LiveWorld, Endless], Awaitable[None]], may_decide: Callable[[], bool] = lambda: True
) -> None:
    async def run() -> None:
        scheduler = Endless()
        kinds = [watched_kind(kind) for kind in ("Namespace", "Node", "Pod")]
        world = LiveWorld(scheduler, Silence(), kinds, clock=SystemClock(), may_decide=may_decide)
        running = asyncio.ensure_future(world.run(Deaf()))
        try:
            await scene(world, scheduler)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


def test_nothing_is_observed_or_decided_before_every_kind_is_listed() -> None:
    async def scene(world: LiveWorld, scheduler: Endless) -> None:
        world.on_events("Pod", [ObjectAdded(POD)])
        world.on_synced("Pod")
        world.on_synced("Node")
        await asyncio.sleep(0.02)
        assert (scheduler.observed, scheduler.decided, world.is_synced) == ([], 0, False)
        world.on_synced("Namespace")
        await until(lambda: scheduler.decided)
        assert scheduler.observed == [ObjectAdded(POD)]

    play_alone(scene)


def test_pods_are_delivered_after_what_they_refer_to() -> None:
    async def scene(world: LiveWorld, scheduler: Endless) -> None:
        for kind, obj in (("Pod", POD), ("Node", NODE), ("Namespace", NAMESPACE)):
            world.on_events(kind, [ObjectAdded(obj)])
            world.on_synced(kind)
        await until(lambda: world.is_synced)
        assert scheduler.observed == [ObjectAdded(NAMESPACE), ObjectAdded(NODE), ObjectAdded(POD)]

    play_alone(scene)


def test_decisions_do_not_run_far_ahead_of_the_answers() -> None:
    async def scene(world: LiveWorld, scheduler: Endless) -> None:
        for kind in ("Pod", "Node", "Namespace"):
            world.on_synced(kind)
        await until(lambda: scheduler.decided == UNANSWERED_BINDINGS_MAX)
        await asyncio.sleep(0.02)
        assert (scheduler.decided, world.unanswered) == (UNANSWERED_BINDINGS_MAX, UNANSWERED_BINDINGS_MAX)
        world.answer(BindAnswered("ns/1", "1"))
        await until(lambda: scheduler.decided == UNANSWERED_BINDINGS_MAX + 1)

    play_alone(scene)


def test_what_many_kinds_suffer_from_is_reported_once() -> None:
    reported: list[str] = []

    async def run() -> None:
        kinds = [watched_kind(kind) for kind in ("Namespace", "Node", "Pod")]
        world = LiveWorld(Endless(), Silence(), kinds, clock=SystemClock(), on_trouble=reported.append)
        world.on_trouble("Pod", "Pod p is left out: no name")
        for kind in ("Pod", "Node", "Namespace"):
            world.on_trouble(kind, f"failed to list or watch {kind}: connection refused", "connection refused")
        world.on_trouble("Node", "failed to list or watch nodes: EOF", "EOF")
        await asyncio.sleep(1)

    run_virtually(run())
    assert reported == [
        "Pod p is left out: no name",
        "failed to list or watch 3 kinds (Namespace, Node, Pod): connection refused",
        "failed to list or watch nodes: EOF",
    ]


def test_who_does_not_lead_observes_and_decides_nothing_until_it_does() -> None:
    leads: list[bool] = []

    async def scene(world: LiveWorld, scheduler: Endless) -> None:
        for kind in ("Pod", "Node", "Namespace"):
            world.on_synced(kind)
        await until(lambda: world.is_synced)
        world.on_events("Pod", [ObjectAdded(POD)])
        assert (scheduler.observed, scheduler.decided) == ([ObjectAdded(POD)], 0)
        leads.append(True)
        world.wake()
        await until(lambda: scheduler.decided)

    play_alone(scene, lambda: bool(leads))


# ---------------------------------------------------------------------- with an API server


class Meddling:
    """A client whose watches can be broken, and which may be refused kinds."""

    def __init__(self, client: ApiClient, forbidden: str = "") -> None:
        self._client = client
        self.forbidden = forbidden
        self._broken = asyncio.Event()
        self.refused = 0  # watches that went on from a version were refused with 410

    def break_watches(self) -> None:
        """Ends all watches; whoever wants to go on from a version is told that it is gone."""
        self._broken.set()

    async def request(self, method: str, path: str, body: bytes = b"", **options: Any) -> Response:
        if self.forbidden and self.forbidden in path:
            return Response(403, b'{"message": "forbidden"}', {})
        return await self._client.request(method, path, body, **options)

    @asynccontextmanager
    async def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AsyncIterator[Stream]:
        if self.forbidden and self.forbidden in path:
            yield Refusal(403)
        elif self._broken.is_set() and "sendInitialEvents" not in path:
            self.refused += 1
            yield Refusal(410)
        else:
            async with self._client.stream(path, idle_timeout_s=idle_timeout_s) as stream:
                yield stream if self._broken.is_set() else Breakable(stream, self._broken)


class Refusal:
    """The answer to a watch that is not to be."""

    def __init__(self, status: int) -> None:
        self.status = status

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for nothing in b"":
            yield bytes(nothing)

    async def read(self) -> bytes:
        return b"{}"


class Breakable:
    """A stream that ends when somebody wants it to."""

    def __init__(self, stream: Stream, broken: asyncio.Event) -> None:
        self.status = stream.status
        self.read = stream.read
        self._stream, self._broken = stream, broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        while True:
            chunk: asyncio.Future[bytes | None] = asyncio.ensure_future(anext(chunks, None))
            broken = asyncio.ensure_future(self._broken.wait())
            both: set[asyncio.Future[Any]] = {chunk, broken}
            done, undone = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in undone:
                task.cancel()
            if broken in done or (got := chunk.result()) is None:
                raise LostError("broken by a test")
            yield got


class Running:
    """A scheduler at work on a cluster."""

    def __init__(self, api: LiveCluster, client: ApiClient) -> None:
        self.api = api
        self.troubles: list[str] = []
        clock, configuration = SystemClock(), load_configuration(release=DEFAULT_RELEASE)
        scheduler = build_scheduler(configuration, started_at=clock())
        kinds = kinds_to_watch(configuration)
        self.world = LiveWorld(scheduler, client, kinds, clock=clock, on_trouble=self.troubles.append)
        self.writer = Writer(client, self.world.find, self.world.answer, limits=Limits(qps=0))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        running = asyncio.ensure_future(self.world.run(self.writer))
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await self.writer.drain(1.0)

    async def until_bound(self, *names: str) -> None:
        await until(lambda: all(self.node_of(name) for name in names))

    def node_of(self, name: str) -> str:
        return str(self.api.get("pod", name)["spec"].get("nodeName", ""))


def wanted(name: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def play(scene: Callable[[LiveCluster, Meddling], Awaitable[None]], *, nodes: int = 2, forbidden: str = "") -> None:
    async def run(api: LiveCluster) -> None:
        client = connect(str(api.kubeconfig), environ={})
        try:
            await scene(api, Meddling(client, forbidden))
        finally:
            await client.close()

    with cluster(nodes=nodes, scheduler=False) as api:
        asyncio.run(run(api))


def test_pods_that_were_there_and_pods_that_come_later_are_bound() -> None:
    async def scene(api: LiveCluster, client: Meddling) -> None:
        api.apply([wanted(f"early-{number}") for number in range(20)])
        running = Running(api, client)
        async with running.at_work():
            await running.until_bound(*(f"early-{number}" for number in range(20)))
            api.apply(wanted("late"))
            await running.until_bound("late")
        assert running.troubles == []

    play(scene)


def test_a_preemptor_gets_the_room_of_its_victim() -> None:
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}

    async def scene(api: LiveCluster, client: Meddling) -> None:
        cpu = api.list("nodes")[0]["status"]["allocatable"]["cpu"]
        api.apply([{**important, "metadata": {"name": "important"}}, wanted("low", cpu)])
        running = Running(api, client)
        async with running.at_work():
            await running.until_bound("low")
            api.apply(wanted("high", cpu, priorityClassName="important"))
            await running.until_bound("high")
        assert [one["metadata"]["name"] for one in api.list("pods")] == ["high"]

    play(scene, nodes=1)


def test_a_new_scheduler_goes_on_where_the_old_one_ended() -> None:
    async def scene(api: LiveCluster, client: Meddling) -> None:
        first = Running(api, client)
        async with first.at_work():
            api.apply([wanted(f"a-{number}") for number in range(5)])
            await first.until_bound(*(f"a-{number}" for number in range(5)))
        before = {name: first.node_of(name) for name in (f"a-{number}" for number in range(5))}
        api.apply([wanted(f"b-{number}") for number in range(5)])
        second = Running(api, client)
        async with second.at_work():
            await second.until_bound(*(f"b-{number}" for number in range(5)))
        assert {name: second.node_of(name) for name in before} == before

    play(scene)


def _has_node(found: Object | None) -> bool:
    return isinstance(found, Pod) and bool(found.spec.node_name)


def test_a_gap_in_the_watches_is_filled_by_new_lists() -> None:
    async def scene(api: LiveCluster, client: Meddling) -> None:
        running = Running(api, client)
        async with running.at_work():
            await running.world.opened()
            api.apply(wanted("before"))
            await running.until_bound("before")
            await until(lambda: _has_node(running.world.find("Pod", "default/before")))
            client.break_watches()
            await until(lambda: client.refused)
            api.apply([wanted("meanwhile")])
            api.delete("pod", "before")
            await running.until_bound("meanwhile")
            await until(lambda: running.world.find("Pod", "default/before") is None)

    play(scene)


@pytest.mark.parametrize("forbidden", ["csinodes", "poddisruptionbudgets", "resourceslices"])
def test_pods_are_bound_though_a_kind_is_forbidden(forbidden: str) -> None:
    async def scene(api: LiveCluster, client: Meddling) -> None:
        running = Running(api, client)
        async with running.at_work():
            api.apply(wanted("p"))
            await running.until_bound("p")
        (trouble,) = running.troubles
        assert trouble.startswith(f"missing permission: verbs list and watch on {forbidden} in API group")

    play(scene, forbidden=forbidden)


def test_a_server_that_refuses_everything_while_it_starts_is_asked_again() -> None:
    """Else preemption would not know of budgets, and pods not of their volumes."""

    async def scene(api: LiveCluster, client: Meddling) -> None:
        api.apply(budget("budget").manifest().dict())
        running = Running(api, client)
        async with running.at_work():
            await until(
                lambda: len(running.troubles) == len(kinds_to_watch(load_configuration(None, release=DEFAULT_RELEASE)))
            )
            client.forbidden = ""
            await until(lambda: running.world.is_synced)
            assert "default/budget" in running.world.objects("PodDisruptionBudget")

    play(scene, forbidden="/")


def test_without_the_right_to_see_nodes_nothing_is_bound() -> None:
    async def scene(api: LiveCluster, client: Meddling) -> None:
        running = Running(api, client)
        async with running.at_work():
            api.apply(wanted("p"))
            await until(lambda: running.troubles)
            await asyncio.sleep(0.05)
            assert not running.world.is_synced
        assert running.node_of("p") == ""
        assert 'on nodes in API group ""; waiting for it' in running.troubles[0]

    play(scene, forbidden="/nodes")


# ---------------------------------------------------------------------- bugs


class Bugs:
    """Those that were survived, by where they were met."""

    def __init__(self) -> None:
        self.met: list[tuple[str, str]] = []

    def __call__(self, where: str, about: str, error: Exception, /) -> None:
        assert str(error) == "broken"
        self.met.append((where, about))


def alone(bugs: Bugs, **more: Any) -> LiveWorld:
    kinds = [watched_kind(kind) for kind in ("Namespace", "Node", "Pod")]
    return LiveWorld(Endless(), Silence(), kinds, clock=SystemClock(), on_bug=bugs, **more)


def broken(*_: Any) -> Any:
    raise ValueError("broken")


class BrokenObserver:
    observed = decided = wrote = broken


class Counting:
    """An observer that works."""

    def __init__(self) -> None:
        self.heard = 0

    def observed(self, event: Event, now: int) -> None:
        self.heard += 1

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        self.heard += 1

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        self.heard += 1


def test_an_observer_that_raises_keeps_nobody_from_looking_on() -> None:
    async def scene() -> None:
        bugs, other = Bugs(), Counting()
        world = alone(bugs, observers=[BrokenObserver(), other])
        world.observers.observed(ObjectAdded(POD), 0)
        world.observers.decided(Decision("", Outcome.NO_POD), 0, 0)
        world.observers.wrote(Bind("ns/p", "u", "n"), 0, "")
        assert other.heard == 3
        assert bugs.met == [("observer", "BrokenObserver")] * 3

    asyncio.run(scene())


def test_an_action_that_cannot_even_be_begun_counts_as_refused() -> None:
    class Broken:
        perform_all = broken

    async def scene() -> None:
        bugs = Bugs()
        world = alone(bugs)
        running = asyncio.ensure_future(world.run(Broken()))
        for kind in ("Namespace", "Node", "Pod"):
            world.on_synced(kind)
        scheduler = world.scheduler
        assert isinstance(scheduler, Endless)
        await until(lambda: scheduler.observed)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert scheduler.observed[0] == BindAnswered("ns/1", "1", "internal error: ValueError: broken")
        assert bugs.met[0] == ("write", "ns/1")
        assert world.unanswered == 0

    asyncio.run(scene())


def test_an_event_that_nobody_can_judge_is_observed_as_it_is() -> None:
    async def scene() -> None:
        bugs = Bugs()
        world = alone(bugs, incoming=broken)
        running = asyncio.ensure_future(world.run(Deaf()))
        world.on_events("Pod", [ObjectAdded(POD)])
        for kind in ("Namespace", "Node", "Pod"):
            world.on_synced(kind)
        scheduler = world.scheduler
        assert isinstance(scheduler, Endless)
        await until(lambda: scheduler.observed)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert scheduler.observed == [ObjectAdded(POD)]
        assert bugs.met == [("event", "ObjectAdded")]

    asyncio.run(scene())


def test_a_watch_that_raises_begins_again() -> None:
    class Stumbling(Silence):
        asked = 0

        @asynccontextmanager
        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Stream]:
            Stumbling.asked += 1
            raise ValueError("broken")
            yield None  # type: ignore[unreachable]

    async def scene() -> None:
        bugs = Bugs()
        kinds = [watched_kind("Pod")]
        world = LiveWorld(Endless(), Stumbling(), kinds, clock=SystemClock(), on_bug=bugs)
        running = asyncio.ensure_future(world.run(Deaf()))
        await asyncio.sleep(12)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert bugs.met == [("watch", "Pod")] * 3

    run_virtually(scene())
