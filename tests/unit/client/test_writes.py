"""Actions as requests, and answers as events: order, repetitions, and that nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from tests.support.scripted_client import Answer, ScriptedClient, answer, of, refusal, silence
from tests.support.virtual_time import run_virtually, virtual_ns

from bayplan.client.contract import LostError, NotSentError
from bayplan.client.requesting import Requests
from bayplan.client.writes import Limits, Writer
from bayplan.core.actions import Action, Bind, ClearNomination, Emit, Evict, Nominate, SetCondition
from bayplan.core.events import BindAnswered, Event, EvictAnswered
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.testing.builders import pod

UNLIMITED = Limits(qps=0)
EVICTION = ("n1", "PreemptionByScheduler", "default-scheduler: preempting", "Preempted by pod u on node n1")


class Bench:
    """A writer, its client and what it answered."""

    def __init__(self, client: ScriptedClient, *pods: Pod, limits: Limits = UNLIMITED) -> None:
        self.client = client
        self.pods = {object_key(known): known for known in pods}
        self.answers: list[tuple[float, Event]] = []
        self.written: list[tuple[Action, int, str]] = []
        self.bugs: list[tuple[str, str]] = []
        self.writer = Writer(
            client,
            lambda kind, key: self.pods.get(key) if kind == "Pod" else None,
            lambda event: self.answers.append((asyncio.get_running_loop().time(), event)),
            on_written=lambda *over: self.written.append(over),
            limits=limits,
            clock=virtual_ns,
            host="host",
            on_bug=lambda about, error: self.bugs.append((about, str(error))),
        )

    def perform(self, *actions: Action) -> None:
        self.writer.perform_all(actions, virtual_ns())

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.answers]


def played(client: ScriptedClient, *actions: Action, known: tuple[Pod, ...] = (), within_s: float = 120.0) -> Bench:
    """What happens within that time when all these are asked for at once."""

    async def play() -> Bench:
        bench = Bench(client, *known)
        bench.perform(*actions)
        await asyncio.sleep(within_s)
        return bench

    return run_virtually(play())


def bind(name: str = "a", node: str = "n1") -> Bind:
    return Bind(f"default/{name}", f"uid-{name}", node)


def evict(name: str) -> Evict:
    return Evict(f"default/{name}", uid_of(name), *EVICTION)


def uid_of(name: str) -> str:
    return pod(name).obj().metadata.uid


def failure(name: str, message: str = "no room", nominated: str | None = None) -> SetCondition:
    return SetCondition(f"default/{name}", uid_of(name), "Unschedulable", message, nominated)


def emit(name: str, note: str = "no room") -> Emit:
    return Emit(f"default/{name}", uid_of(name), "Warning", "FailedScheduling", "Scheduling", note)


def test_a_binding_names_pod_and_node() -> None:
    bench = played(ScriptedClient(), bind())
    (request,) = bench.client.requests
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/default/pods/a/binding")
    assert request.raw == (
        b'{"kind":"Binding","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"uid-a"},'
        b'"target":{"kind":"Node","name":"n1"}}'
    )
    assert bench.events == [BindAnswered("default/a", "uid-a")]


ALREADY = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"'


def shown(name: str, uid: str, node: str = "") -> Answer:
    """The pod as the server has it."""
    meta = {"name": name, "namespace": "default", "uid": uid}
    return answer(200, {"metadata": meta, "spec": {"nodeName": node, "containers": []}})


@pytest.mark.parametrize(
    ("now", "error"),
    [
        (shown("a", "uid-a", "n1"), ""),
        (shown("a", "uid-a", "n11"), ALREADY),
        (shown("a", "another", "n1"), ALREADY),
        (refusal(404, "gone"), ALREADY),
    ],
    ids=["as asked", "elsewhere", "another pod", "gone"],
)
def test_a_binding_that_was_done_before_counts_as_done(now: Answer, error: str) -> None:
    bench = played(ScriptedClient(refusal(409, ALREADY), now), bind())
    assert bench.client.lines == ["POST default/pods/a/binding", "GET default/pods/a"]
    assert bench.events == [BindAnswered("default/a", "uid-a", error)]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (refusal(404, 'pods "a" not found'), 'pods "a" not found'),
        (refusal(500, "etcd is away"), "etcd is away"),
        (answer(503, body="oh"), 'an error on the server (""oh"") has prevented the request from succeeding'),
    ],
)
def test_a_refused_binding_is_tried_once(given: Answer, error: str) -> None:
    bench = played(ScriptedClient(given), bind())
    assert len(bench.client.requests) == 1
    assert bench.events == [BindAnswered("default/a", "uid-a", error)]


def test_a_binding_that_was_not_sent_is_sent_again() -> None:
    bench = played(ScriptedClient(NotSentError("refused"), NotSentError("refused")), bind())
    assert [round(request.at, 1) for request in bench.client.requests] == [0, 0, 0.1]
    assert bench.events == [BindAnswered("default/a", "uid-a")]


def test_a_binding_that_cannot_be_sent_fails_after_four_tries() -> None:
    bench = played(ScriptedClient(*[NotSentError("dial tcp: connection refused")] * 9), bind())
    assert len(bench.client.requests) == 4
    assert bench.events == [BindAnswered("default/a", "uid-a", "dial tcp: connection refused")]


def test_a_binding_whose_answer_is_lost_is_left_to_the_core() -> None:
    bench = played(ScriptedClient(LostError("EOF")), bind())
    assert len(bench.client.requests) == 1
    assert bench.events == [BindAnswered("default/a", "uid-a", "EOF", lost=True)]


def test_answers_lost_again_and_again_are_passed_on_ever_more_slowly() -> None:
    async def play() -> list[float]:
        bench = Bench(ScriptedClient(*[LostError("EOF")] * 3, refusal(500, "no"), LostError("EOF")))
        for count in range(1, 7):
            bench.perform(bind())
            while len(bench.answers) < count:
                await asyncio.sleep(0.01)
        times = [0.0, *(at for at, _ in bench.answers)]
        return [round(later - before, 1) for before, later in pairwise(times)]

    assert run_virtually(play()) == [0.1, 0.2, 0.4, 0.8, 1.6, 0.0]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retry_after_is_honored(status: int) -> None:
    bench = played(ScriptedClient(refusal(status, "slow down", retry_after="1")), bind())
    assert [request.at for request in bench.client.requests] == [0.0, 1.0]
    assert bench.events == [BindAnswered("default/a", "uid-a")]


def test_a_server_that_asks_for_patience_for_ever_is_not_obeyed_for_ever() -> None:
    bench = played(ScriptedClient(*[refusal(429, "slow down", retry_after="4")] * 99), bind())
    assert bench.events == [BindAnswered("default/a", "uid-a", "slow down")]
    assert bench.answers[0][0] <= 30


@pytest.mark.parametrize(
    ("action", "within_s"), [(bind(), 20), (evict("v"), 150)], ids=lambda action: type(action).__name__
)
def test_a_server_that_says_nothing_keeps_nobody_waiting_for_ever(action: Action, within_s: float) -> None:
    bench = played(ScriptedClient(*[silence] * 99), action, known=(pod("v").obj(),), within_s=1_000)
    ((at, answered),) = bench.answers
    assert isinstance(answered, BindAnswered | EvictAnswered)
    assert (answered.error, at <= within_s) == ("context deadline exceeded", True)


def test_a_failure_is_written_into_the_status() -> None:
    bench = played(ScriptedClient(), failure("a"), known=(pod("a").obj(),))
    (request,) = bench.client.requests
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/default/pods/a/status")
    assert request.content_type == "application/strategic-merge-patch+json"
    assert request.body["status"]["conditions"][0]["message"] == "no room"


@pytest.mark.parametrize("fault", [refusal(409, "c"), refusal(500, "e"), refusal(503, "u"), LostError("EOF")])
def test_a_status_patch_has_four_tries(fault: Answer) -> None:
    bench = played(ScriptedClient(*[fault] * 9), failure("a"), known=(pod("a").obj(),))
    gaps = [later.at - before.at for before, later in pairwise(bench.client.requests)]
    assert [pytest.approx(gap, rel=0.11) for gap in gaps] == [0.0105, 0.0525, 0.2625]


def test_a_forbidden_status_patch_has_one_try() -> None:
    bench = played(ScriptedClient(refusal(403, "no")), failure("a"), known=(pod("a").obj(),))
    assert len(bench.client.requests) == 1
    assert bench.written == [(failure("a"), 0, "no")]


@pytest.mark.parametrize("known", [(), (pod("a").uid("another").obj(),)], ids=["gone", "another"])
def test_no_condition_is_written_on_a_pod_that_is_gone_or_another(known: tuple[Pod, ...]) -> None:
    assert played(ScriptedClient(), failure("a"), known=known).client.requests == []


def test_a_patch_is_computed_from_the_answer_to_the_one_before() -> None:
    """The watch has not shown the first one yet; without its answer the second would seem to change nothing."""
    known = pod("a").condition("PodScheduled", "False", "Unschedulable").obj()
    known.metadata.resource_version = "5"
    known.status.conditions[0].message = "A"
    document = {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "uid": uid_of("a"), "resourceVersion": "6"},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "B"}]},
    }
    bench = played(ScriptedClient(answer(200, document)), failure("a", "B"), failure("a", "A"), known=(known,))
    messages = [request.body["status"]["conditions"][0]["message"] for request in bench.client.requests]
    assert messages == ["B", "A"]


def test_nominations_come_and_go() -> None:
    nominated = pod("b").nominated("n1").obj()
    actions = (Nominate("default/a", "n1"), ClearNomination("default/b", "n1"), Nominate("default/b", "n1"))
    bench = played(ScriptedClient(), *actions, known=(pod("a").obj(), nominated))
    bodies = {request.path: request.body for request in bench.client.requests}
    assert bodies == {
        "/api/v1/namespaces/default/pods/a/status": {"status": {"nominatedNodeName": "n1"}},
        "/api/v1/namespaces/default/pods/b/status": {"status": {"nominatedNodeName": None}},
    }


def test_a_victim_is_marked_then_deleted_if_it_is_still_the_same_and_an_event_says_so() -> None:
    bench = played(ScriptedClient(), evict("v"), known=(pod("v").obj(),))
    assert bench.client.lines == ["PATCH default/pods/v/status", "DELETE default/pods/v", "POST default/events"]
    assert bench.client.requests[1].body == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": uid_of("v")},
    }
    event = bench.client.requests[2].body
    assert (event["reason"], event["action"], event["note"]) == ("Preempted", "Preempting", EVICTION[3])
    assert event["reportingController"] == "default-scheduler"
    assert bench.events == [EvictAnswered("default/v", uid_of("v"))]


@pytest.mark.parametrize(
    ("answers", "requests", "error"),
    [
        ((refusal(404, "gone"),), 1, ""),
        ((answer(), refusal(404, "gone")), 2, ""),
        ((answer(), refusal(409, "not that uid"), shown("v", "another")), 3, ""),
        ((answer(), refusal(409, "not that uid"), refusal(404, "gone")), 3, ""),
        ((answer(), refusal(409, "try again"), shown("v", uid_of("v"))), 3, "try again"),
        ((answer(), refusal(500, "no")), 2, "no"),
        ((answer(), LostError("EOF"), answer()), 4, ""),  # with the event
        ((answer(), *[LostError("EOF")] * 4), 5, "EOF"),
        ((refusal(403, "no"),), 1, "no"),
    ],
)
def test_a_victim_that_is_gone_is_as_good_as_evicted(answers: tuple[Answer, ...], requests: int, error: str) -> None:
    bench = played(ScriptedClient(*answers), evict("v"), known=(pod("v").obj(),))
    assert len(bench.client.requests) == requests
    assert bench.events == [EvictAnswered("default/v", uid_of("v"), error)]


@pytest.mark.parametrize("known", [(), (pod("v").uid("another").obj(),)], ids=["gone", "another"])
def test_nothing_is_sent_for_a_victim_that_is_known_to_be_gone(known: tuple[Pod, ...]) -> None:
    bench = played(ScriptedClient(), evict("v"), known=known)
    assert (bench.client.requests, bench.events) == ([], [EvictAnswered("default/v", uid_of("v"))])


def test_a_victim_is_not_deleted_again_before_the_watch_shows_that_it_goes() -> None:
    victim = pod("v").obj()
    victim.metadata.resource_version = "5"
    metadata = {"name": "v", "namespace": "default", "uid": uid_of("v"), "resourceVersion": "7"}
    going = {"metadata": {**metadata, "deletionTimestamp": "2026-11-15T20:38:36Z"}}
    bench = played(ScriptedClient(answer(), answer(200, going)), evict("v"), evict("v"), known=(victim,))
    assert [line for line in bench.client.lines if "pods/v" in line] == [
        "PATCH default/pods/v/status",
        "DELETE default/pods/v",
    ]
    assert bench.events == [EvictAnswered("default/v", uid_of("v"))] * 2


def test_nominations_are_withdrawn_before_the_victims_and_the_last_victim_goes_last() -> None:
    victims = tuple(pod(name).obj() for name in ("u", "v", "w"))
    low = pod("low").nominated("n1").obj()
    actions = (evict("u"), evict("v"), evict("w"), ClearNomination("default/low", "n1"))
    client = ScriptedClient(delay_s=0.1)
    bench = played(client, *actions, known=(*victims, low))
    lines = [line for line in client.lines if "events" not in line]
    assert lines[0] == "PATCH default/pods/low/status"
    assert sorted(lines[1:3]) == ["PATCH default/pods/u/status", "PATCH default/pods/v/status"]
    assert lines[-2:] == ["PATCH default/pods/w/status", "DELETE default/pods/w"]
    assert bench.events == [EvictAnswered(f"default/{name}", uid_of(name)) for name in ("u", "v", "w")]


def test_the_last_victim_is_spared_when_another_could_not_be_evicted() -> None:
    bench = played(ScriptedClient(refusal(403, "no")), evict("u"), evict("v"), known=(pod("u").obj(), pod("v").obj()))
    assert bench.client.lines == ["PATCH default/pods/u/status"]
    assert bench.events == [EvictAnswered(f"default/{name}", uid_of(name), "no") for name in ("u", "v")]


def test_the_event_of_a_binding_is_about_the_pod_as_it_was_decided_on() -> None:
    known = pod("a").obj()
    known.metadata.resource_version = "7"

    async def play() -> Bench:
        bench = Bench(ScriptedClient(), known)
        bench.perform(Bind("default/a", uid_of("a"), "n1"))
        await asyncio.sleep(0)
        known.metadata.resource_version = "8"
        for _ in range(2):
            bench.perform(emit("a"))
        await asyncio.sleep(1)
        return bench

    versions = [one.body["regarding"]["resourceVersion"] for one in run_virtually(play()).client.requests[1:]]
    assert versions == ["7", "8"]


def test_an_event_that_is_refused_is_dropped_and_one_that_does_not_get_through_comes_later() -> None:
    client = ScriptedClient(refusal(500, "no"), LostError("EOF"))
    bench = played(client, emit("a"), emit("b"), known=(pod("a").obj(), pod("b").obj()))
    assert [request.body["regarding"]["name"] for request in client.requests] == ["a", "b", "b"]
    assert 10 <= client.requests[2].at <= 12.5
    assert client.requests[1].raw == client.requests[2].raw
    assert bench.writer.outcomes == {("Emit", "refused"): 1, ("Emit", "repeated"): 1, ("Emit", "written"): 1}


def test_a_series_that_has_ended_is_written_with_its_real_count() -> None:
    known = pod("a").obj()

    async def play() -> ScriptedClient:
        bench = Bench(ScriptedClient(), known)
        for _ in range(5):
            bench.perform(emit("a"))
            await asyncio.sleep(5)
        await asyncio.sleep(1_000)
        return bench.client

    client = run_virtually(play())
    assert [request.method for request in client.requests] == ["POST", "PATCH", "PATCH"]
    counts = [request.body["series"]["count"] for request in client.requests[1:]]
    assert (counts, client.requests[2].at) == ([2, 5], 720)
    assert {request.content_type for request in client.requests[1:]} == {"application/strategic-merge-patch+json"}


def test_a_count_for_an_event_that_is_not_there_any_more_is_written_as_a_new_one() -> None:
    client = ScriptedClient(answer(201), refusal(404, "expired"))
    bench = played(client, emit("a"), emit("a", "another note"), known=(pod("a").obj(),))
    assert client.lines[0] == client.lines[2] == "POST default/events"
    assert client.requests[2].body == {**client.requests[0].body, "series": client.requests[1].body["series"]}
    assert bench.writer.outcomes == {("Emit", "written"): 2}


def burst(
    limits: Limits, *actions: Action, delay_s: float = 0.01, after: Callable[[Bench], None] | None = None
) -> Bench:
    async def play() -> Bench:
        known = [pod(name).obj() for name in "abcdefgh"]
        bench = Bench(ScriptedClient(delay_s=delay_s), *known, limits=limits)
        bench.perform(*actions)
        if after is not None:
            await asyncio.sleep(0.001)
            after(bench)
        await asyncio.sleep(30)
        return bench

    return run_virtually(play())


def test_bindings_go_before_conditions_and_conditions_before_events() -> None:
    limits = Limits(qps=0, in_flight=1)
    actions = (emit("a"), failure("a"), bind("b"), emit("b"), failure("b"), bind("c"))
    lines = burst(limits, *actions).client.lines
    assert [line for line in lines if "events" not in line] == [
        "POST default/pods/b/binding",
        "POST default/pods/c/binding",
        "PATCH default/pods/a/status",
        "PATCH default/pods/b/status",
    ]
    assert lines[0] != "POST default/events"


def test_a_burst_of_events_does_not_hold_up_a_binding() -> None:
    events = [Emit("default/a", f"u{count}", "Normal", "r", "a", "") for count in range(200)]
    bench = burst(Limits(qps=0, in_flight=8), *events, after=lambda bench: bench.perform(bind("b")))
    assert bench.answers[0][0] < 0.02
    assert len(of(bench.client.requests, "POST")) == 201


def test_few_events_are_sent_while_something_more_important_is() -> None:
    binds = [Bind("default/x", f"u{count}", "n") for count in range(10)]
    events = [Emit("default/a", f"u{count}", "Normal", "r", "a", "") for count in range(100)]
    client = burst(Limits(qps=0, in_flight=16), *events, *binds).client
    last_binding = max(request.at for request in client.requests if request.path.endswith("binding"))
    assert sum(request.at < last_binding for request in client.requests) <= 10 + 1 + 16 // 4 + 10


def test_writes_about_one_pod_keep_their_order() -> None:
    actions = (failure("a", "1"), failure("a", "2"), Bind("default/a", uid_of("a"), "n1"))
    lines = burst(Limits(qps=0, in_flight=8), *actions).client.lines
    assert lines == ["PATCH default/pods/a/status"] * 2 + ["POST default/pods/a/binding"]


def test_no_more_requests_than_allowed_are_in_flight() -> None:
    binds = [bind(f"p{count}") for count in range(50)]
    client = burst(Limits(qps=0, in_flight=8), *binds).client
    assert (client.most_in_flight, len(client.requests)) == (8, 50)


def test_bindings_follow_qps_and_burst_and_events_have_a_bucket_of_their_own() -> None:
    binds = [bind(f"p{count}") for count in range(400)]
    events = [Emit("default/a", f"u{count}", "Normal", "r", "a", "") for count in range(400)]
    client = burst(Limits(qps=50, burst=100, in_flight=64), *binds, *events, delay_s=0.0).client
    sent = [request.at for request in client.requests if request.path.endswith("binding")]
    said = [request.at for request in client.requests if request.path.endswith("events")]
    for times in (sent, said):
        assert sum(at < 1e-9 for at in times) == 100
        assert times[-1] == pytest.approx(6.0)


def test_draining_finishes_bindings_and_gives_events_a_second() -> None:
    async def play() -> tuple[Bench, float]:
        known = [pod("a").obj()]
        bench = Bench(ScriptedClient(delay_s=0.3), *known, limits=Limits(qps=0, in_flight=4))
        bench.perform(bind("a"), bind("b"), bind("c"), bind("d"), bind("e"))
        bench.perform(*[Emit("default/a", f"u{count}", "Normal", "r", "a", "") for count in range(20)])
        await asyncio.sleep(0.1)
        await bench.writer.drain(10)
        return bench, asyncio.get_running_loop().time()

    bench, ended_at = run_virtually(play())
    assert len(bench.events) == 5
    assert 1.5 <= ended_at <= 1.7
    assert 0 < len([request for request in bench.client.requests if request.path.endswith("events")]) < 20


def test_draining_ends_when_the_time_is_over() -> None:
    async def play() -> float:
        bench = Bench(ScriptedClient(delay_s=1_000.0))
        bench.perform(bind("a"))
        await bench.writer.drain(5)
        return asyncio.get_running_loop().time()

    assert run_virtually(play()) == pytest.approx(5, abs=0.1)


def test_outcomes_are_counted() -> None:
    bench = played(ScriptedClient(answer(), refusal(500, "no")), bind("a"), bind("b"))
    assert bench.writer.outcomes == {("Bind", "written"): 1, ("Bind", "failed"): 1}


def test_a_mistake_in_this_program_is_an_answer_too() -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError("oops")

    bench = played(ScriptedClient(fail), bind())  # type: ignore[arg-type]
    assert bench.events == [BindAnswered("default/a", "uid-a", "ZeroDivisionError: oops")]


@pytest.mark.parametrize(("owner", "name"), [(Requests, "_bind"), (Requests, "_delete"), (Writer, "_over")])
def test_a_bug_in_a_write_is_reported_and_the_action_answered(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is raised by the request or beside it. Others are written as ever."""
    original: Callable[..., Any] = getattr(owner, name)
    raised: list[str] = []

    def raises(*arguments: Any) -> Any:
        if not raised:
            raised.append(name)
            raise ValueError("broken")
        return original(*arguments)

    action: Bind | Evict = evict("a") if name == "_delete" else bind()

    async def play() -> Bench:
        bench = Bench(ScriptedClient(), pod("a").obj())
        monkeypatch.setattr(owner, name, raises)
        bench.perform(action)
        await asyncio.sleep(1)
        bench.perform(bind("b"))
        await asyncio.sleep(1)
        return bench

    bench = run_virtually(play())
    assert bench.bugs == [("default/a", "broken")]
    answered = BindAnswered if isinstance(action, Bind) else EvictAnswered
    assert bench.events == [
        answered("default/a", action.uid, "ValueError: broken"),
        BindAnswered("default/b", "uid-b"),
    ]
