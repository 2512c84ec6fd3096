"""Events of the scheduler, written behind everything else.

Takes what is said about pods; queues what is to be written, and drops what does not fit: nothing depends on an Event.
One that the server refuses is dropped as well; one that does not get through is tried again later, as upstream does.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from bayplan.client.contract import Response, TransportError
from bayplan.client.lanes import Lane, Lanes, LaneTask
from bayplan.client.loggers import structlog
from bayplan.client.refusals import read_status
from bayplan.client.sending import Sender
from bayplan.core.actions import Emit
from bayplan.model.media_types import STRATEGIC_MERGE_PATCH
from bayplan.model.structs import Struct
from bayplan.model.time_units import SECOND
from bayplan.performing.event_series import FINISH_NS, REFRESH_NS, EventSeries, Said
from bayplan.performing.regarding import EventSubject
from bayplan.performing.requests import CONFLICT, NOT_FOUND

#: Events that wait. Upstream has room for 1,000; a burst of bindings is not to lose any of theirs here.
QUEUE_MAX: Final = 10_000
#: How often an Event is tried, and the pause between tries, which may be a quarter longer.
#: Upstream: client-go/tools/events/event_broadcaster.go (v1.36).
_TRIES_MAX: Final = 12
_PAUSE_S: Final = 10.0
_PAUSE_JITTER: Final = 0.25

_log = structlog.get_logger("events")


class _Attempt(Struct, eq=False):
    said: Said
    tries: int = 0


class EventWrites:
    """Writes Events when there is time for it."""

    def __init__(
        self,
        lanes: Lanes,
        sender: Sender,
        series: EventSeries,
        outcomes: Counter[tuple[str, ...]],
        clock: Callable[[], int],
    ) -> None:
        self._lanes = lanes
        self._sender = sender
        self._series = series
        self._outcomes = outcomes
        self._clock = clock
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._reported = ""
        self._every(FINISH_NS, "finish", lambda: self._series.finish(self._clock()))
        self._every(REFRESH_NS, "refresh", self._series.series)

    def say(self, event: Emit, about: EventSubject, now: int) -> None:
        """Write the Event, or count it."""
        for said in self._series.say(event, about, now):
            self._put(_Attempt(said))

    def stop(self) -> None:
        """Write nothing more than what is queued."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _every(self, period_ns: int, name: str, due: Callable[[], list[Said]]) -> None:
        def tick() -> None:
            for said in due():
                self._put(_Attempt(said))
            self._every(period_ns, name, due)

        self._timers[name] = asyncio.get_running_loop().call_later(period_ns / SECOND, tick)

    def _put(self, attempt: _Attempt) -> None:
        if self._lanes.waiting(Lane.EVENTS) >= QUEUE_MAX:
            self._count("dropped")
            return
        # One name, one key: a count is not written before the Event itself.
        self._lanes.put(LaneTask(Lane.EVENTS, f"events/{attempt.said.name}", self._write, attempt, 0))

    async def _write(self, job: LaneTask) -> None:
        attempt = job.subject
        assert isinstance(attempt, _Attempt)
        try:
            response = await self._send(attempt.said)
        except TransportError:
            self._try_later(attempt)
            return
        except Exception:
            self._count("failed")  # an Event is not worth a worker
            return
        if response.status == CONFLICT and attempt.said.count > 1:
            self._try_later(attempt)  # it was not there, and then it was
            return
        if not response.ok:
            self._report(response)
        self._count("written" if response.ok else "refused")

    async def _send(self, said: Said) -> Response:
        if said.count > 1:
            path = f"{said.path}/{said.name}"
            response = await self._sender.once(Lane.EVENTS, "PATCH", path, said.counting, STRATEGIC_MERGE_PATCH)
            if response.status != NOT_FOUND:
                return response
        return await self._sender.once(Lane.EVENTS, "POST", said.path, said.creation)

    def _report(self, response: Response) -> None:
        """Once for each new reason, as a burst of Events is refused for the same one."""
        message = read_status(response.body).message
        if message != self._reported:
            self._reported = message
            _log.error("Server rejected event (will not retry!)", err=message)

    def _try_later(self, attempt: _Attempt) -> None:
        attempt.tries += 1
        if attempt.tries >= _TRIES_MAX:
            self._count("given up")
            return
        self._count("repeated")
        pause = _PAUSE_S * (1 + _PAUSE_JITTER * random.random())
        name = attempt.said.name

        def put() -> None:
            del self._timers[name]
            self._put(attempt)

        if name not in self._timers:
            self._timers[name] = asyncio.get_running_loop().call_later(pause, put)

    def _count(self, outcome: str) -> None:
        self._outcomes["Emit", outcome] += 1
