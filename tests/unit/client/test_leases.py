"""Leader election: what is sent when, who decides, and who does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.elections import (
    EPOCH_NS,
    EVENTS,
    LEASE,
    LEASES,
    Asked,
    DriftingClock,
    Fate,
    LeaseServer,
    Link,
)
from tests.support.virtual_time import run_virtually

from bayplan.client.leases import LeaderElector, LeaseLostError
from bayplan.config.schema import LeaderElection
from bayplan.model.durations import Duration
from bayplan.model.time_units import MILLISECOND, SECOND

ELECTION = LeaderElection()

Story = Callable[["Stage"], Awaitable[None]]


class Stage:
    """A server and the candidates that a test starts."""

    def __init__(self) -> None:
        self.server = LeaseServer()
        self.heard: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    def candidate(self, who: str, fate: Callable[[str], Fate] | None = None, jitter: float = 0.0) -> LeaderElector:
        link = Link(self.server, who)
        if fate is not None:
            link.fate = fate
        return LeaderElector(
            link,
            ELECTION,
            who,
            "default-scheduler",
            on_started=lambda: self.heard.append(f"{who} started"),
            on_stopped=lambda: self.heard.append(f"{who} stopped"),
            clock=DriftingClock(),
            jitter=lambda: jitter,
        )

    def start(self, elector: LeaderElector) -> asyncio.Task[None]:
        task = asyncio.ensure_future(elector.run())
        self._tasks.append(task)
        return task

    def forget(self) -> None:
        self.server.asked.clear()

    def lines(self) -> list[str]:
        """What was asked about the Lease, each with its time."""
        return [asked.line for asked in self.server.asked if asked.path.startswith(LEASES)]

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def play(story: Story) -> None:
    async def main() -> None:
        stage = Stage()
        await story(stage)
        await stage.end()

    run_virtually(main())


def _requests(server: LeaseServer, path: str) -> list[Asked]:
    return [asked for asked in server.asked if asked.path == path]


def _spec(holder: str, acquired: str, renewed: str, **others: Any) -> dict[str, Any]:
    times = {"acquireTime": acquired, "renewTime": renewed}
    return {"holderIdentity": holder, "leaseDurationSeconds": 15, **times, "leaseTransitions": 0, **others}


def test_without_a_lease_it_is_created_renewed_at_once_and_then_every_two_seconds() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A")
        stage.start(elector)
        assert not elector.is_leading()
        await asyncio.sleep(4.5)
        assert elector.is_leading()
        lines = ["0.0 GET kube-scheduler", "0.0 POST leases"]
        assert stage.lines() == [*lines, *(f"{at}.0 PUT kube-scheduler" for at in (0, 2, 4))]
        requests = [asked for asked in stage.server.asked if asked.path.startswith(LEASES)]
        assert {(asked.query, asked.agent) for asked in requests} == {("timeout=5s", "leader-election")}

    play(story)


def test_the_bodies_of_a_new_lease_and_of_its_renewals() -> None:
    async def story(stage: Stage) -> None:
        stage.start(stage.candidate("A"))
        await asyncio.sleep(3)
        created = _requests(stage.server, LEASES)[0].body
        metadata = {"name": "kube-scheduler", "namespace": "kube-system"}
        assert created == {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": metadata,
            "spec": _spec("A", "2026-11-16T00:00:00.000000Z", "2026-11-16T00:00:00.000000Z"),
        }
        first, second = [asked.body for asked in _requests(stage.server, LEASE) if asked.method == "PUT"]
        assert first["metadata"] == {
            **metadata,
            "uid": "a-uid",
            "creationTimestamp": "2026-11-16T00:00:00Z",
            "resourceVersion": "101",
        }
        assert first["spec"] == _spec("A", "2026-11-16T00:00:00.000000Z", "2026-11-16T00:00:00.004000Z")
        assert second["metadata"]["resourceVersion"] == "102"
        assert second["spec"] == _spec("A", "2026-11-16T00:00:00.000000Z", "2026-11-16T00:00:02.006000Z")

    play(story)


def test_the_event_of_a_new_leader_is_one_of_core_v1() -> None:
    async def story(stage: Stage) -> None:
        stage.start(stage.candidate("A"))
        await asyncio.sleep(1)
        (event,) = _requests(stage.server, EVENTS)
        assert (event.query, event.agent) == ("", "scheduler")
        assert event.body == {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": f"kube-scheduler.{EPOCH_NS + 4 * MILLISECOND:x}", "namespace": "kube-system"},
            "involvedObject": {
                "kind": "Lease",
                "namespace": "kube-system",
                "name": "kube-scheduler",
                "uid": "a-uid",
                "apiVersion": "coordination.k8s.io/v1",
                "resourceVersion": "101",
            },
            "reason": "LeaderElection",
            "message": "A became leader",
            "source": {"component": "default-scheduler"},
            "firstTimestamp": "2026-11-16T00:00:00Z",
            "lastTimestamp": "2026-11-16T00:00:00Z",
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": "default-scheduler",
            "reportingInstance": "",
        }

    play(story)


def test_a_stopped_leader_gives_the_lease_back() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A")
        running = stage.start(elector)
        await asyncio.sleep(1)
        stage.forget()
        elector.stop()
        assert not elector.is_leading()
        await running
        assert stage.lines() == ["1.0 GET kube-scheduler", "1.0 PUT kube-scheduler"]
        now = "2026-11-16T00:00:01.002000Z"
        assert stage.server.asked[-1].body["spec"] == _spec("", now, now, leaseDurationSeconds=1)
        assert stage.heard == ["A started", "A stopped"]

    play(story)


def test_one_who_waits_sends_nothing_when_it_is_stopped() -> None:
    async def story(stage: Stage) -> None:
        stage.start(stage.candidate("A"))
        await asyncio.sleep(0.1)
        waiting = stage.candidate("B")
        running = stage.start(waiting)
        await asyncio.sleep(0.5)
        stage.forget()
        waiting.stop()
        await running
        assert not [asked for asked in stage.server.asked if asked.who == "B"]
        assert waiting.leader() == "A"

    play(story)


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 2.0), (0.5, 3.2), (1.0, 4.4)])
def test_those_who_wait_look_every_two_to_four_and_a_half_seconds(jitter: float, pause: float) -> None:
    async def story(stage: Stage) -> None:
        stage.start(stage.candidate("A"))
        await asyncio.sleep(0.1)
        stage.start(stage.candidate("B", jitter=jitter))
        await asyncio.sleep(2.5 * pause)
        times = [asked.at for asked in stage.server.asked if asked.who == "B"]
        assert times == pytest.approx([0.1, 0.1 + pause, 0.1 + 2 * pause], abs=0.01)

    play(story)


def test_a_lease_that_was_given_back_is_taken_at_the_next_look() -> None:
    async def story(stage: Stage) -> None:
        leader, follower = stage.candidate("A"), stage.candidate("B")
        stage.start(leader)
        await asyncio.sleep(0.5)
        stage.start(follower)
        await asyncio.sleep(0.5)
        leader.stop()
        await asyncio.sleep(1.6)
        assert follower.is_leading()
        taken = next(asked.body["spec"] for asked in stage.server.asked if asked.who == "B" and asked.method == "PUT")
        now = "2026-11-16T00:00:02.502000Z"
        assert taken == _spec("B", now, now, leaseTransitions=1)

    play(story)


def test_the_lease_of_a_dead_leader_is_taken_a_lease_duration_after_its_last_change_was_seen() -> None:
    async def story(stage: Stage) -> None:
        running = stage.start(stage.candidate("A"))
        await asyncio.sleep(0.5)
        follower = stage.candidate("B")
        stage.start(follower)
        await asyncio.sleep(3)
        running.cancel()  # renewed at 2 s, which B saw at 2.5 s
        await asyncio.sleep(14)
        assert not follower.is_leading()
        await asyncio.sleep(1.1)
        assert follower.is_leading()

    play(story)


def _refused(status: int, first: float, last: float, methods: str = "PUT") -> Callable[[str], Fate]:
    def fate(method: str) -> Fate:
        refused = first <= asyncio.get_running_loop().time() < last and method in methods.split()
        return Fate(status=status) if refused else Fate()

    return fate


def test_a_refused_renewal_is_read_and_written_again_at_once() -> None:
    async def story(stage: Stage) -> None:
        stage.start(stage.candidate("A", _refused(409, 2.0, 2.0065)))
        await asyncio.sleep(1)
        stage.forget()
        await asyncio.sleep(3.5)
        assert stage.lines() == [f"{line} kube-scheduler" for line in ("2.0 PUT", "2.0 GET", "2.0 PUT", "4.0 PUT")]

    play(story)


def test_six_seconds_of_refusals_cost_nobody_the_lead() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A", _refused(500, 1.0, 7.5))
        stage.start(elector)
        await asyncio.sleep(1)
        stage.forget()
        for _ in range(100):
            await asyncio.sleep(0.1)
            assert elector.is_leading()
        refused = [f"{at}.0 {method} kube-scheduler" for at in (2, 4, 6) for method in ("PUT", "GET", "PUT")]
        assert stage.lines() == [*refused, "8.0 PUT kube-scheduler", "10.0 PUT kube-scheduler"]

    play(story)


def test_a_leader_that_cannot_renew_stops_deciding_and_then_gives_up() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A", _refused(500, 3.0, 99.0, "GET PUT"))
        running = stage.start(elector)
        await asyncio.sleep(3)
        stage.forget()
        await asyncio.sleep(8.9)
        assert elector.is_leading()  # the last good renewal was sent at 2 s
        await asyncio.sleep(0.2)
        assert not elector.is_leading()
        with pytest.raises(LeaseLostError):
            await running
        tries = [f"{at}.0 {method} kube-scheduler" for at in (4, 6, 8, 10, 12) for method in ("PUT", "GET")]
        assert stage.lines() == [*tries, "14.0 GET kube-scheduler"]
        assert stage.heard == ["A started", "A stopped"]

    play(story)


def test_a_server_that_never_answers_takes_the_lead_as_well() -> None:
    async def story(stage: Stage) -> None:
        stalled = Fate(there_s=1e6)
        elector = stage.candidate("A", lambda method: stalled if asyncio.get_running_loop().time() > 3 else Fate())
        running = stage.start(elector)
        await asyncio.sleep(11.9)
        assert elector.is_leading()
        await asyncio.sleep(0.2)
        assert not elector.is_leading()
        with pytest.raises(LeaseLostError):
            await running

    play(story)


def test_a_renewal_answered_late_counts_from_when_it_was_sent() -> None:
    async def story(stage: Stage) -> None:
        def fate(method: str) -> Fate:
            now = asyncio.get_running_loop().time()
            return Fate(back_s=4.0) if 1.9 < now < 2.1 else Fate(unsent=now > 2.1)

        elector = stage.candidate("A", fate)
        running = stage.start(elector)
        await asyncio.sleep(11.9)
        assert elector.is_leading()
        await asyncio.sleep(0.2)
        assert not elector.is_leading()
        with pytest.raises(LeaseLostError):
            await running

    play(story)


def test_a_leader_that_sees_another_holder_stops_deciding_at_once_and_leaves_the_lease_alone() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A")
        running = stage.start(elector)
        await asyncio.sleep(1)
        assert stage.server.lease is not None
        taken = {**stage.server.lease, "spec": _spec("B", "2026-11-16T00:00:01.000000Z", "2026-11-16T00:00:01.000000Z")}
        stage.server.answer("PUT", LEASE, taken)
        await asyncio.sleep(1.1)
        assert not elector.is_leading()
        with pytest.raises(LeaseLostError):
            await running
        assert stage.server.holder == "B"

    play(story)


def test_a_lost_answer_to_the_first_write_is_found_out_at_the_next_look() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A", lambda method: Fate(lost_back=method == "POST"))
        stage.start(elector)
        await asyncio.sleep(1)
        assert (stage.server.holder, elector.is_leading()) == ("A", False)
        await asyncio.sleep(1.5)
        assert elector.is_leading()
        assert stage.server.lease is not None
        assert stage.server.lease["spec"]["leaseTransitions"] == 0

    play(story)


def test_a_leader_that_does_not_notice_that_its_lease_has_ended_is_unhealthy() -> None:
    async def story(stage: Stage) -> None:
        elector = stage.candidate("A")
        running = stage.start(elector)
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.sleep(33)
        assert elector.complaint() == ""
        await asyncio.sleep(3)
        assert elector.complaint() == "failed election to renew leadership on lease kube-scheduler"

    play(story)


def test_a_renew_deadline_within_one_jittered_retry_is_refused() -> None:
    async def story(stage: Stage) -> None:
        election = LeaderElection(retry_period_ns=Duration(9 * SECOND))
        with pytest.raises(ValueError, match=r"renewDeadline must be greater than retryPeriod\*JitterFactor"):
            LeaderElector(Link(stage.server), election, "A", "default-scheduler")

    play(story)
