"""What the scheduler wants done, as requests to the API server, and what became of it as events for the scheduler.

Takes actions, and objects as they were last seen; writes bindings and what must precede them first, then conditions and
evictions, then Events. Every `Bind`, `Evict` and `WriteVolumes` is answered exactly once, also if the server is silent.
Decides nothing and watches nothing. A binding that may have happened is not repeated here: the core asks for it again.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from bayplan.client.contract import ApiClient, LostError, NotSentError
from bayplan.client.event_writes import EventWrites
from bayplan.client.known_objects import KnownObjects
from bayplan.client.lanes import Lane, Lanes, LaneTask
from bayplan.client.limits import Throttle, TokenBucket
from bayplan.client.requesting import Requests
from bayplan.client.sending import Sender
from bayplan.core.actions import (
    Action,
    Bind,
    ClearNomination,
    DeallocateClaim,
    Emit,
    Evict,
    Nominate,
    ReleaseClaim,
    SetCondition,
    SetGroupCondition,
    WriteVolumes,
    subject_of,
)
from bayplan.core.events import BindAnswered, ClaimWriteFailed, Event
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.performing.actions import Effects, answer_to, steps_of
from bayplan.performing.event_series import EventSeries
from bayplan.performing.preemption import PreemptionWrites
from bayplan.performing.recent import NewestEntries
from bayplan.performing.regarding import Regarding
from bayplan.performing.requests import Known, RefusedError

Wrote: TypeAlias = Callable[[Action, int, str], None]
"""An action is over: how long it took in nanoseconds, and the error, if there was one."""

_STATUSES: Final = (Evict, SetCondition, Nominate, ClearNomination, SetGroupCondition)
#: Answers that were lost are passed on after a pause, which doubles: the core asks again at once.
_PAUSE_S: Final = 0.1
_PAUSE_MAX_S: Final = 5.0
#: At shutdown: Events are not waited for any longer.
_LAST_EVENTS_S: Final = 1.0
_LOOKS_EVERY_S: Final = 0.005


class Limits(NamedTuple):
    """How much at once. `qps` of 0 or less: no limit. Events have a bucket of the same size to themselves."""

    qps: float = 50.0
    burst: int = 100
    in_flight: int = 48


class Writer:
    """Performs actions. Belongs to the event loop on which it was made."""

    def __init__(
        self,
        client: ApiClient,
        known: Known,
        on_answer: Callable[[Event], None],
        *,
        limits: Limits = Limits(),  # noqa: B008
        on_written: Wrote | None = None,
        clock: Callable[[], int] = time.time_ns,
        host: str = "",
        bind_by_extender: Callable[[Bind], BindAnswered] | None = None,
        on_bug: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """`known` gives objects as the watch last showed them.

        `bind_by_extender` may wait for its answer: it is called in a thread.
        `on_bug` is told of exceptions that nobody expected, with the pod; the action counts as failed.
        """
        loop = asyncio.get_running_loop()
        self._on_answer = on_answer
        self._on_written = on_written
        self._on_bug = on_bug
        self._bind_by_extender = bind_by_extender
        self._clock = clock
        self.outcomes: Counter[tuple[str, ...]] = Counter()  # by action and what became of it
        throttles = [Throttle(TokenBucket(limits.qps, limits.burst, loop.time()), loop.time) for _ in range(2)]
        self._sender = Sender(client, *throttles)
        self._lanes = Lanes(limits.in_flight, self._sender.is_sending, self._raised)
        self._known = KnownObjects(known)
        self._requests = Requests(self._sender, self._known)
        series = EventSeries(host or socket.gethostname())
        self._events = EventWrites(self._lanes, self._sender, series, self.outcomes, clock)
        self._regarding = Regarding(lambda key: _pod(known("Pod", key)))
        self._lost: NewestEntries[str, int] = NewestEntries()  # uid -> how often the answer was lost
        self._pending_answers = 0

    @property
    def created(self) -> Counter[tuple[str, bool]]:
        """Objects that were to be created, by kind and by whether they were."""
        return self._requests.created

    def perform_all(self, actions: Sequence[Action], now: int) -> None:
        """Do what one decision asks for; the victims of a preemption in upstream's order."""
        preemption = PreemptionWrites(actions) if any(isinstance(action, Evict) for action in actions) else None
        for action in actions:
            if preemption is None or not isinstance(action, Evict | ClearNomination):
                self.perform(action, now)
        if preemption is not None:
            self._begin_stage(preemption, now)

    def _begin_stage(self, preemption: PreemptionWrites, now: int) -> None:
        """Start what comes next, once that what came before is over."""
        stage = preemption.stages.pop(0)
        outstanding = len(stage)

        def over(action: Action, error: str) -> None:
            nonlocal outstanding
            outstanding -= 1
            preemption.over(action, error)
            if not outstanding and preemption.stages:
                self._begin_stage(preemption, now)

        for action in stage:
            if preemption.spares(action):
                self._refuse(action, preemption.error)
            else:
                self._put(action, now, partial(over, action))

    def perform(self, action: Action, now: int) -> None:
        """Do it soon."""
        if isinstance(action, Emit):
            self._emit(action, now)
            return
        if isinstance(action, Bind):
            self._regarding.binds(action)
        self._put(action, now, None)

    async def drain(self, timeout_s: float) -> None:
        """Finish what is under way, Events for a second at most; then stop."""
        clock = asyncio.get_running_loop().time
        ends = clock() + timeout_s
        self._events.stop()
        while (self._lanes.is_busy(Lane.STATUSES) or self._pending_answers) and clock() < ends:
            await asyncio.sleep(_LOOKS_EVERY_S)
        ends = min(ends, clock() + _LAST_EVENTS_S)
        while self._lanes.is_busy(Lane.EVENTS) and clock() < ends:
            await asyncio.sleep(_LOOKS_EVERY_S)
        await self._lanes.stop()

    # ---------------------------------------------------------------- one action

    def _put(self, action: Action, now: int, then: Callable[[str], None] | None) -> None:
        lane = Lane.STATUSES if isinstance(action, _STATUSES) else Lane.BINDINGS
        self._lanes.put(LaneTask(lane, subject_of(action), self._perform, action, now, then))

    async def _perform(self, job: LaneTask) -> None:
        action: Any = job.subject
        if isinstance(action, Bind) and action.extender:
            await self._ask_extender(job, action)
            return
        about = self._regarding.about(action) if isinstance(action, Evict) else None
        lane = Lane.STATUSES if isinstance(action, _STATUSES) else Lane.BINDINGS
        effects = Effects()
        steps = steps_of(action, self._known.find, job.now, effects)
        error, lost = await self._attempt(action, self._requests.go(lane, steps))
        if effects.event is not None and about is not None:
            self._events.say(effects.event, about, self._clock())
        answer = answer_to(action, error, lost=lost, effects=effects)
        # A claim that could not be freed is tried again at once, so the report waits.
        waits = isinstance(action, Bind | WriteVolumes | DeallocateClaim | ReleaseClaim)
        pause_s = self._pause(action.uid, error, lost or isinstance(answer, ClaimWriteFailed)) if waits else 0.0
        self._over(job, action, error, answer, pause_s)

    async def _ask_extender(self, job: LaneTask, action: Bind) -> None:
        assert self._bind_by_extender is not None
        answer = await asyncio.to_thread(self._bind_by_extender, action)
        self._over(job, action, answer.error, answer)

    async def _attempt(self, action: Action, write: Awaitable[Any]) -> tuple[str, bool]:
        """The error, if there was one, and whether nobody knows what became of the write."""
        try:
            await write
        except LostError as error:
            return str(error) or "lost", True
        except (NotSentError, RefusedError) as error:
            return str(error), False
        except Exception as error:
            # A mistake of this program: the scheduler must not wait for ever.
            self._report_bug(subject_of(action), error)
            return f"{type(error).__name__}: {error}", False
        return "", False

    def _raised(self, job: LaneTask, error: Exception) -> None:
        """Something else than a write has failed. Whoever waits is told, perhaps for the second time."""
        self._report_bug(job.key, error)
        message = f"{type(error).__name__}: {error}"
        if isinstance(job.subject, Bind | Evict | WriteVolumes):
            answer = answer_to(job.subject, message)
            assert answer is not None
            self._on_answer(answer)
        if job.then is not None:
            job.then(message)

    def _report_bug(self, about: str, error: Exception) -> None:
        if self._on_bug is not None:
            self._on_bug(about, error)

    def _over(
        self, job: LaneTask, action: Action, error: str, answer: Event | None = None, pause_s: float = 0.0
    ) -> None:
        self._count(action, error)
        if self._on_written is not None:
            self._on_written(action, max(self._clock() - job.now, 0), error)
        if answer is not None and pause_s:
            self._pending_answers += 1
            asyncio.get_running_loop().call_later(pause_s, self._answer_late, answer)
        elif answer is not None:
            self._on_answer(answer)
        if job.then is not None:
            job.then(error)

    def _answer_late(self, answer: Event) -> None:
        self._pending_answers -= 1
        self._on_answer(answer)

    def _refuse(self, action: Action, error: str) -> None:
        """An eviction that is not performed."""
        self._count(action, error)
        answer = answer_to(action, error)
        assert answer is not None
        self._on_answer(answer)

    def _pause(self, uid: str, error: str, lost: bool) -> float:
        """How long to wait before saying so; only for a pod of which an answer was lost."""
        if not error:
            self._lost.pop(uid, None)
            return 0.0
        if not lost and uid not in self._lost:
            return 0.0
        times = self._lost.get(uid, 0) + 1
        self._lost.remember(uid, times)
        return float(min(_PAUSE_S * 2 ** (times - 1), _PAUSE_MAX_S))

    def _count(self, action: Action, error: str) -> None:
        self.outcomes[type(action).__name__, "failed" if error else "written"] += 1

    # ---------------------------------------------------------------- events

    def _emit(self, event: Emit, now: int) -> None:
        self._events.say(event, self._regarding.about(event), now)


def _pod(found: Object | None) -> Pod | None:
    return found if isinstance(found, Pod) else None
