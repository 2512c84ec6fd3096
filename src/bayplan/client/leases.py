"""Leader election: of several schedulers that want one Lease, at most one decides.

Takes which Lease and upstream's timings; `run` waits for the Lease, keeps it, and ends with `LeaseLostError` when it
cannot be kept. `is_leading` is asked before every turn of decisions. It turns False a renew deadline after the last
renewal that succeeded was *sent*: others count a whole lease duration from when they saw that renewal, so as long as
their clocks run less than leaseDuration / renewDeadline (1.5) times as fast as this one, nobody decides beside anybody.
What the clocks show does not matter. Not covered: a Lease that somebody deletes.

Starts and stops nothing but itself: what a leader does is left to those who ask.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from bayplan.client.contract import ApiClient
from bayplan.client.lease_lock import LeaderElectionRecord, LeaseLock, LeaseNotFoundError, LockError
from bayplan.client.loggers import structlog
from bayplan.config.schema import LeaderElection
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_micro_time

_JITTER_FACTOR: Final = 1.2  # upstream: leaderelection.JitterFactor
#: How long a leader may go on without its Lease before it is reported as unhealthy: it should have ended by then.
_TOLERATED_S: Final = 20.0

_NEVER: Final = float("-inf")

_log = structlog.get_logger("leaderelection")


class TimeSource(Protocol):
    """Time as one process sees it."""

    def monotonic(self) -> float:
        """Seconds that pass evenly, also while the machine sleeps."""

    def wall_ns(self) -> int:
        """What is written into the Lease, for people to read."""

    async def sleep(self, seconds: float) -> None: ...


class LeaseClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        # Unlike time.monotonic it goes on while the machine is suspended, when a Lease may pass to somebody else.
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall_ns(self) -> int:
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class LeaseLostError(Exception):
    """The Lease could not be renewed in time. The process must end: it may still have writes on the way."""


def _nothing() -> None:
    pass


class LeaderElector:
    """One candidate for one Lease.

    Args:
        client: where the Lease is.
        election: which Lease, and how long everything takes.
        identity: who this process is; no other may have the same.
        component: the scheduler in whose name the event about a new leader is written.
        on_started: called when this process has become the leader.
        on_stopped: called when it is no longer, before the Lease is given back.
        jitter: between 0 and 1; spreads the attempts of those who wait.
    """

    def __init__(
        self,
        client: ApiClient,
        election: LeaderElection,
        identity: str,
        component: str,
        *,
        on_started: Callable[[], None] = _nothing,
        on_stopped: Callable[[], None] = _nothing,
        clock: TimeSource | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if election.renew_deadline_ns <= election.retry_period_ns * _JITTER_FACTOR:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
        self.identity = identity
        self._lock = LeaseLock(client, election, component)
        self._on_started, self._on_stopped = on_started, on_stopped
        self._clock = clock or LeaseClock()
        self._jitter = jitter
        self._lease_duration_s = election.lease_duration_ns // SECOND
        self._renew_deadline_s = election.renew_deadline_ns / SECOND
        self._retry_period_s = election.retry_period_ns / SECOND
        self._observed: LeaderElectionRecord | None = None
        self._observed_at = 0.0
        self._decides_until = _NEVER
        self._leads = False
        self._tried = False
        self._stop = asyncio.Event()
        self._announcing: asyncio.Task[None] | None = None

    # -- asked by others

    def is_leading(self) -> bool:
        """Whether this process may decide, now. May turn True again when a late renewal succeeds."""
        return self._is_holder() and not self._stop.is_set() and self._clock.monotonic() < self._decides_until

    def leader(self) -> str:
        """Who holds the Lease, as last seen; empty if nobody does or nothing was seen yet."""
        return self._observed.holder if self._observed is not None else ""

    def complaint(self) -> str:
        """What is wrong with a leader whose Lease ended long ago and who has not noticed; empty if all is well."""
        age_s = self._clock.monotonic() - self._observed_at
        if self._is_holder() and age_s > self._lease_duration_s + _TOLERATED_S:
            return f"failed election to renew leadership on lease {self._lock.name}"
        return ""

    def stop(self) -> None:
        """Decide nothing any more, give the Lease back if it is held, and let `run` return."""
        self._stop.set()

    # -- the life of a candidate

    async def run(self) -> None:
        """Waits for the Lease and keeps it until `stop`. Raises LeaseLostError when it cannot be kept."""
        campaign = asyncio.ensure_future(self._campaign())
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({campaign, stopping}, return_when=asyncio.FIRST_COMPLETED)
            lost = campaign.done()
            if lost:
                campaign.result()
        finally:
            await _cancel(campaign, stopping)
        await self._leave()
        if lost:
            _log.error("Leaderelection lost", lock=self._lock.description)
            raise LeaseLostError("leaderelection lost")

    async def _campaign(self) -> None:
        """Returns when the Lease is lost."""
        _log.info("Attempting to acquire leader lease...", lock=self._lock.description)
        while not await self._try_to_hold(deadline=float("inf")):
            _log.info("Failed to acquire lease", lock=self._lock.description, v=4)
            await self._clock.sleep(self._retry_period_s * (1 + self._jitter() * _JITTER_FACTOR))
        _log.info("Successfully acquired lease", lock=self._lock.description)
        self._announcing = asyncio.ensure_future(self._announce(f"{self.identity} became leader"))
        self._leads = True
        self._on_started()
        while await self._renew_in_time():
            _log.info("Successfully renewed lease", lock=self._lock.description, v=5)
            await self._clock.sleep(self._retry_period_s)
        _log.info("Failed to renew lease", lock=self._lock.description, err="context deadline exceeded")

    async def _renew_in_time(self) -> bool:
        """Tries at once and then at every tick, until it works or the deadline has come."""
        started = self._clock.monotonic()
        deadline = started + self._renew_deadline_s
        used = 0
        while not await self._try_to_hold(deadline):
            passed = int((self._clock.monotonic() - started) / self._retry_period_s)
            # An attempt that took longer than a tick is followed by the next one at once, as with Go's tickers.
            used = max(used + 1, passed)
            next_at = started + used * self._retry_period_s
            await self._clock.sleep(max(0.0, min(next_at, deadline) - self._clock.monotonic()))
            if next_at >= deadline:
                return False
        return True

    async def _leave(self) -> None:
        """Give the Lease back if it may be ours; also after a failed renewal, as upstream does."""
        self._decides_until = _NEVER
        if self._leads:
            self._leads = False
            self._on_stopped()
        if self._tried:
            try:
                await self._release()
            except LockError as error:
                _log.error("Failed to release lease", lock=self._lock.description, err=str(error))
        if self._announcing is not None:
            await _cancel(self._announcing)

    async def _release(self) -> None:
        stored = await self._lock.read(self._renew_deadline_s)
        if stored.holder != self.identity:
            return  # upstream would take it from whoever has it now
        now = format_micro_time(self._clock.wall_ns())
        freed = LeaderElectionRecord(holder="", duration_s=1, acquired=now, renewed=now, transitions=stored.transitions)
        await self._lock.update(freed, self._renew_deadline_s)
        self._observe(freed)

    async def _announce(self, message: str) -> None:
        try:
            await self._lock.announce(message, self._clock.wall_ns())
        except LockError as error:
            _log.error("Failed to write event", lock=self._lock.description, err=str(error))

    # -- one attempt

    async def _try_to_hold(self, deadline: float) -> bool:
        """Acquire or renew, once. Upstream: tryAcquireOrRenew."""
        try:
            return await self._hold(deadline)
        except LockError as error:
            _log.error(error.doing, lock=self._lock.description, err=str(error))
            return False

    async def _hold(self, deadline: float) -> bool:
        began = self._clock.monotonic()
        wanted = self._wanted()
        if self._is_holder() and self._is_valid(began):
            try:
                return await self._write(self._lock.update, wanted, deadline)
            except LockError as error:
                text = "Failed to update lease optimistically, falling back to slow path"
                _log.info(text, lock=self._lock.description, err=str(error), v=2)
        try:
            stored = await self._lock.read(self._left(deadline))
        except LeaseNotFoundError:
            return await self._write(self._lock.create, wanted, deadline)
        if stored != self._observed:
            self._observe(stored)
        if stored.holder == self.identity:
            wanted = replace(wanted, acquired=stored.acquired, transitions=stored.transitions)
        elif stored.holder and self._is_valid(began):
            text = "Lease is held by and has not yet expired"
            _log.info(text, lock=self._lock.description, holder=stored.holder, v=4)
            return False
        else:
            wanted = replace(wanted, acquired=wanted.renewed, transitions=stored.transitions + 1)
        return await self._write(self._lock.update, wanted, deadline)

    def _wanted(self) -> LeaderElectionRecord:
        """The Lease as this process would have it, if nothing has changed since it was last seen."""
        now = format_micro_time(self._clock.wall_ns())
        wanted = LeaderElectionRecord(self.identity, self._lease_duration_s, acquired=now, renewed=now, transitions=0)
        if self._observed is None or not self._is_holder():
            return wanted
        return replace(wanted, acquired=self._observed.acquired, transitions=self._observed.transitions)

    async def _write(
        self,
        write: Callable[[LeaderElectionRecord, float], Awaitable[None]],
        wanted: LeaderElectionRecord,
        deadline: float,
    ) -> bool:
        sent = self._clock.monotonic()
        self._tried = True
        await write(wanted, self._left(deadline))
        self._observe(wanted)
        self._decides_until = sent + self._renew_deadline_s
        return True

    def _left(self, deadline: float) -> float:
        return deadline - self._clock.monotonic()

    def _observe(self, record: LeaderElectionRecord) -> None:
        self._observed, self._observed_at = record, self._clock.monotonic()

    def _is_holder(self) -> bool:
        return self.leader() == self.identity

    def _is_valid(self, now: float) -> bool:
        """Whether the Lease, as last seen, has not ended."""
        return self._observed is not None and self._observed_at + self._observed.duration_s > now


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
