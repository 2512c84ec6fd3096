"""The proxy itself: what each fault looks like to the client, to the server and in the log."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

import pytest
from tests.live.faults import Fault, FaultPlan, plan_of
from tests.live.proxy import FaultProxy
from tests.live.records import Exchange
from tests.support.live_server import Reply, ScriptedServer, Watch

BODY = b'{"metadata":{"uid":"u1"},"target":{"name":"n1"}}'
BIND = b"POST /api/v1/namespaces/red/pods/a/binding HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
WATCH = b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n"


class Outcome(NamedTuple):
    """What everybody saw."""

    arrived: bytes  # at the client: until silence, `.` for an end, `!` for a reset
    asked: int  # how often the server was
    exchange: Exchange


async def arriving(reader: asyncio.StreamReader, silence_s: float = 0.5) -> bytes:
    """All that comes until nothing more does for so long; then "." if the connection was closed, "!" if it was cut."""
    arrived = b""
    try:
        while chunk := await asyncio.wait_for(reader.read(1 << 16), silence_s):
            arrived += chunk
        return arrived + b"."
    except ConnectionResetError:
        return arrived + b"!"
    except TimeoutError:
        return arrived


def certain(fault: Fault, lasts_s: float = 5.0) -> FaultPlan:
    return FaultPlan({fault: 1.0}, time.time() + lasts_s, delay_max_s=0.01, stall_max_s=0.05, watch_max_s=0.02)


async def outcome_of(fault: Fault, sent: bytes = BIND) -> Outcome:
    def answer(_: object) -> Reply | Watch:
        return Watch({"type": "ADDED"}) if sent is WATCH else Reply(201, b'{"kind":"Status"}')

    async with ScriptedServer(answer) as server, FaultProxy(server.port, plan=certain(fault)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(sent)
        arrived = await arriving(reader)
        writer.close()
        return Outcome(arrived, len(server.received), proxy.log.exchanges[0])


@pytest.mark.parametrize(
    ("fault", "asked", "end", "returned"),
    [
        (Fault.CUT_BEFORE, 0, b"!", None),
        (Fault.STALLED, 0, b"!", None),
        (Fault.DELAYED, 1, b'{"kind":"Status"}', 201),
        (Fault.CUT_AFTER, 1, b"!", None),
        (Fault.CUT_WITHIN, 1, b"!", None),
        (Fault.STALLED_AFTER, 1, b"!", None),
        (Fault.HALF_CLOSED, 1, b".", None),
        (Fault.REPEATED, 2, b'{"kind":"Status"}', 201),
    ],
)
def test_a_write_that_goes_wrong(fault: Fault, asked: int, end: bytes, returned: int | None) -> None:
    outcome = asyncio.run(outcome_of(fault))
    assert outcome.asked == asked == len(outcome.exchange.answers)
    assert outcome.arrived.endswith(end)
    assert outcome.exchange.returned == returned
    assert outcome.exchange.took_effect == (asked > 0)
    assert (outcome.exchange.fault, outcome.exchange.body) == (fault, BODY)


def test_a_refusal_is_made_up_by_the_proxy() -> None:
    outcome = asyncio.run(outcome_of(Fault.REFUSED))
    assert outcome.asked == 0
    assert outcome.exchange.returned in (409, 429, 500, 503)
    assert outcome.arrived.startswith(b"HTTP/1.1 %d " % outcome.exchange.returned)
    assert (b"Retry-After: 1" in outcome.arrived) == (outcome.exchange.returned == 429)


FIRST_LINE = b'\r\n\r\n12\r\n{"type": "ADDED"}\n\r\n'


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (Fault.WATCH_CUT, FIRST_LINE + b"!"),
        (Fault.WATCH_CUT_WITHIN, FIRST_LINE + b"!"),
        (Fault.WATCH_ENDED, FIRST_LINE + b"0\r\n\r\n."),
        (Fault.WATCH_STALLED, FIRST_LINE + b"!"),
        (Fault.WATCH_HALF_CLOSED, FIRST_LINE + b"."),
        (Fault.WATCH_GONE, b'"status": "Failure"}}\n\r\n0\r\n\r\n.'),
    ],
)
def test_a_watch_that_goes_wrong(fault: Fault, end: bytes) -> None:
    outcome = asyncio.run(outcome_of(fault, WATCH))
    assert outcome.asked == 1
    assert outcome.arrived.endswith(end)


def test_lines_pass_as_they_come_and_the_server_learns_that_the_client_is_gone() -> None:
    async def run() -> None:
        watch = Watch({"type": "ADDED"})
        async with ScriptedServer([watch]) as server, FaultProxy(server.port) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(WATCH)
            assert (await arriving(reader)).endswith(FIRST_LINE)
            watch.send_line({"type": "DELETED"})
            assert await arriving(reader) == b'14\r\n{"type": "DELETED"}\n\r\n'
            writer.close()
            async with asyncio.timeout(60):
                while proxy.log.exchanges[0].ended_at == 0.0:
                    await asyncio.sleep(0.005)

    asyncio.run(run())


@pytest.mark.parametrize("silently", [True, False])
def test_nothing_gets_through_a_cut_network(silently: bool) -> None:
    async def run() -> None:
        async with ScriptedServer(lambda _: Reply(201)) as server, FaultProxy(server.port) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(BIND)
            assert b"201" in await arriving(reader)
            proxy.cut_network(silently=silently)
            writer.write(BIND)
            assert await arriving(reader) == (b"" if silently else b"!")
            assert len(server.received) == 1
            proxy.heal_network()
            assert silently is False or await arriving(reader) == b"!"
            reader, again = await asyncio.open_connection("127.0.0.1", proxy.port)
            again.write(BIND)
            assert b"201" in await arriving(reader)
            writer.close()
            again.close()

    asyncio.run(run())


def test_nothing_goes_wrong_after_the_end_of_a_plan() -> None:
    plan = certain(Fault.CUT_BEFORE, lasts_s=-1.0)
    assert [plan.draw("POST", is_watch=False) for _ in range(50)] == [None] * 50
    assert plan.moment(10.0) == 0.0


def test_seeds_differ_and_every_fault_is_drawn_by_some() -> None:
    plans = [plan_of(seed, 60.0) for seed in range(20)]
    drawn = {
        plan.draw(method, is_watch)
        for plan in plans
        for method, is_watch in (("GET", True), ("GET", False), ("POST", False))
        for _ in range(300)
    }
    assert drawn == {*Fault, None}
    assert len({str(plan.shares) for plan in plans}) == 20


def test_the_log_knows_bindings_and_deletions_by_uid() -> None:
    async def run() -> None:
        async with ScriptedServer(lambda _: Reply(201)) as server, FaultProxy(server.port, "A") as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(BIND)
            options = b'{"preconditions":{"uid":"u7"}}'
            head = b"DELETE /api/v1/namespaces/red/pods/b HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(options)
            writer.write(head + options)
            await arriving(reader)
            writer.close()
            (binding,), (deletion,) = [*proxy.log.bindings()], [*proxy.log.deletions()]
            assert (binding.uid, binding.pod, binding.node, binding.exchange.who) == ("u1", "red/a", "n1", "A")
            assert (deletion.uid, deletion.pod) == ("u7", "red/b")

    asyncio.run(run())
