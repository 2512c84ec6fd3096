"""Two candidates, cut and slow networks, drifting clocks, kills and restarts: never two leaders at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.support.elections import DriftingClock, Fate, LeaseServer, Link, virtual_now
from tests.support.virtual_time import run_virtually

from bayplan.client.leases import LeaderElector, LeaseLostError
from bayplan.config.schema import LeaderElection

ELECTION = LeaderElection()
FAULTS_END_S = 90.0
#: A lease duration, the longest pause between two looks, and a request that was still on its way; by the slowest clock.
SETTLED_S = (15 + 4.4 + 5 + 10) / 0.8

FATES = st.one_of(
    st.just(Fate()),
    st.just(Fate(unsent=True)),
    st.just(Fate(lost_there=True)),
    st.just(Fate(lost_back=True)),
    st.sampled_from([Fate(status=status) for status in (409, 429, 500, 503)]),
    st.builds(Fate, there_s=st.floats(0.001, 20), back_s=st.floats(0.001, 20)),
)


@dataclass(frozen=True)
class Script:
    """One candidate: how fast its clock is, what its requests meet from when on, when it is killed or stopped.

    While it is stuck it renews nothing, but decides if it may: only its own deadline can stop it.
    """

    rate: float
    offset: float
    jitters: list[float]
    fates: list[tuple[float, Fate]]
    killed_at: list[float] = field(default_factory=list)
    stopped_at: list[float] = field(default_factory=list)
    stuck: tuple[tuple[float, float], ...] = ()

    def fate(self, method: str) -> Fate:
        now = virtual_now()
        past = [fate for at, fate in self.fates if at <= now < FAULTS_END_S]
        return past[-1] if past else Fate()


MOMENTS = st.floats(0, FAULTS_END_S)
SCRIPTS = st.builds(
    Script,
    # A lease duration is 1.5 renew deadlines: the faster clock may be less than 1.5 times as fast as the slower one.
    rate=st.floats(0.8, 1.19),
    offset=st.floats(-1e6, 1e6),
    jitters=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    fates=st.lists(st.tuples(MOMENTS, FATES), max_size=8).map(lambda fates: sorted(fates, key=lambda pair: pair[0])),
    killed_at=st.lists(MOMENTS, max_size=2),
    stopped_at=st.lists(MOMENTS, max_size=2),
    stuck=st.tuples(st.tuples(MOMENTS, MOMENTS)),
)


class Candidate:
    """A process that is started again whenever it has ended."""

    def __init__(self, server: LeaseServer, name: str, script: Script) -> None:
        self._server, self._name, self._script = server, name, script
        self._starts = 0
        self.elector = self._process()
        self._running: asyncio.Task[None] | None = None

    def _process(self) -> LeaderElector:
        self._starts += 1
        script = self._script
        return LeaderElector(
            Link(self._server, self._name, script.fate, script.rate),
            ELECTION,
            f"{self._name}{self._starts}",
            "default-scheduler",
            clock=DriftingClock(script.rate, script.offset, script.stuck),
            jitter=lambda: script.jitters[int(virtual_now()) % len(script.jitters)],
        )

    async def live(self) -> None:
        loop = asyncio.get_running_loop()
        for at in self._script.killed_at:
            loop.call_at(at, self._kill)
        for at in self._script.stopped_at:
            loop.call_at(at, self._stop)
        while True:
            self._running = asyncio.ensure_future(self.elector.run())
            try:
                await self._running
            except LeaseLostError:
                pass
            except asyncio.CancelledError:
                if not self._running.cancelled() or asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    raise
            self.elector = self._process()
            await asyncio.sleep(1)

    def _stop(self) -> None:
        self.elector.stop()

    def _kill(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self.elector = self._process()  # nobody asks a dead process whether it leads


async def _watch(first: Script, second: Script) -> None:
    server = LeaseServer()
    candidates = [Candidate(server, "A", first), Candidate(server, "B", second)]
    lives = [asyncio.ensure_future(candidate.live()) for candidate in candidates]
    while virtual_now() < FAULTS_END_S + SETTLED_S:
        await asyncio.sleep(0.05)
        leaders = [candidate.elector.identity for candidate in candidates if candidate.elector.is_leading()]
        assert len(leaders) <= 1, f"at {virtual_now():.2f} s both decide: {leaders}"
    assert len(leaders) == 1, "nobody leads although all is well"
    for life in lives:
        life.cancel()
    await asyncio.gather(*lives, return_exceptions=True)


STUCK = Script(0.8, 0.0, [0.0], [], stuck=((10.0, 60.0),))
LATE = Script(1.0, 0.0, [0.0], [(10.0, Fate(there_s=4.9)), (14.0, Fate(unsent=True))])
FAST = Script(1.19, 0.0, [0.0], [])


@given(SCRIPTS, SCRIPTS)
@example(STUCK, FAST)
@example(LATE, FAST)
def test_two_never_decide_at_once_and_in_the_end_one_does(first: Script, second: Script) -> None:
    with capture_logs():
        run_virtually(_watch(first, second))
