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
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from bayplan.client.claims import ClaimError, ClaimWrites
from bayplan.client.contract import ApiClient, LostError, NotSentError
from bayplan.client.documents import Documents
from bayplan.client.event_series import EventSeries
from bayplan.client.event_writes import EventWrites
from bayplan.client.evicting import Preemption
from bayplan.client.known_pods import KnownPods
from bayplan.client.lanes import Job, Lane, Lanes
from bayplan.client.limits import Throttle, TokenBucket
from bayplan.client.pod_writes import PodWrites
from bayplan.client.recent import Recent
from bayplan.client.sending import RefusedError, Sender
from bayplan.client.volumes import VolumeWrites
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
)
from bayplan.core.events import BindAnswered, ClaimWriteFailed, Event, EvictAnswered, VolumesAnswered
from bayplan.core.refusing import refusal
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME

Known: TypeAlias = Callable[[str, str], Object | None]
"""An object as the watch last showed it, by kind and `namespace/name`."""
Wrote: TypeAlias = Callable[[Action, int, str], None]
"""An action is over: how long it took in nanoseconds, and the error, if there was one."""

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
        """`bind_by_extender` may wait for its answer: it is called in a thread.

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
        self._pods = KnownPods(lambda key: _pod(known("Pod", key)))
        self._pod_writes = PodWrites(self._sender, self._pods)
        documents = Documents(self._sender)
        self._volume_writes = VolumeWrites(documents, lambda key: _version(known("PersistentVolumeClaim", key)))
        self._claim_writes = ClaimWrites(documents, self._sender, self._pods, known)
        series = EventSeries(host or socket.gethostname())
        self._events = EventWrites(self._lanes, self._sender, series, self.outcomes, clock)
        self._tried_versions: Recent[str, str] = Recent()  # uid -> version of the pod that was to be bound
        self._lost: Recent[str, int] = Recent()  # uid -> how often the answer was lost
        self._pending_answers = 0

    def perform_all(self, actions: Iterable[Action], now: int) -> None:
        """Do what one decision asks for; the victims of a preemption in upstream's order."""
        withdrawn: list[ClearNomination] = []
        victims: list[Evict] = []
        for action in actions:
            if isinstance(action, Evict):
                victims.append(action)
            elif isinstance(action, ClearNomination):
                withdrawn.append(action)
            else:
                self.perform(action, now)
        if victims:
            preemption = Preemption(lambda action, then: self._put(action, now, then), self._refuse)
            preemption.start(withdrawn, victims)
        else:
            for action in withdrawn:
                self.perform(action, now)

    def perform(self, action: Action, now: int) -> None:
        """Do it soon."""
        if isinstance(action, Emit):
            self._emit(action, now)
            return
        if isinstance(action, Bind):
            self._remember_version(action)
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
        match action:
            case Bind():
                job = Job(Lane.BINDINGS, action.pod, self._bind, action, now, then)
            case Evict():
                job = Job(Lane.STATUSES, action.pod, self._evict, action, now, then)
            case SetCondition() | Nominate() | ClearNomination():
                job = Job(Lane.STATUSES, action.pod, self._write_status, action, now, then)
            case WriteVolumes():
                job = Job(Lane.BINDINGS, action.pod, self._write_volumes, action, now, then)
            case DeallocateClaim() | ReleaseClaim():
                job = Job(Lane.BINDINGS, action.pod, self._write_claim, action, now, then)
            case Emit():
                raise AssertionError("events take another way")
            case SetGroupCondition():
                raise AssertionError("no scheduler with a client knows groups")
        self._lanes.put(job)

    async def _bind(self, job: Job) -> None:
        action = job.subject
        assert isinstance(action, Bind)
        if action.extender:
            await self._ask_extender(job, action)
            return
        error, lost = await self._attempt(action, self._pod_writes.bind(action))
        self._over(
            job, action, error, BindAnswered(action.pod, action.uid, error, lost), self._pause(action.uid, error, lost)
        )

    async def _ask_extender(self, job: Job, action: Bind) -> None:
        assert self._bind_by_extender is not None
        answer = await asyncio.to_thread(self._bind_by_extender, action)
        self._over(job, action, answer.error, answer)

    async def _evict(self, job: Job) -> None:
        action = job.subject
        assert isinstance(action, Evict)
        seen = self._pods.seen(action.pod)
        error, _ = await self._attempt(action, self._evict_and_say(action, job.now, _version(seen)))
        self._over(job, action, error, EvictAnswered(action.pod, action.uid, error))

    async def _evict_and_say(self, action: Evict, now: int, version: str) -> None:
        if await self._pod_writes.evict(action, now):
            event = Emit(action.pod, action.uid, "Normal", "Preempted", "Preempting", action.note)
            # The condition names the preemptor's scheduler, which reports the event.
            controller = action.condition_message.partition(":")[0] or DEFAULT_SCHEDULER_NAME
            self._events.say(event, version, controller, self._clock())

    async def _write_status(self, job: Job) -> None:
        match job.subject:
            case SetCondition() as action:
                error, _ = await self._attempt(action, self._pod_writes.set_condition(action, job.now))
                self._over(job, action, error)
            case Nominate() | ClearNomination() as action:
                error, _ = await self._attempt(action, self._pod_writes.nominate(action))
                self._over(job, action, error)

    async def _write_volumes(self, job: Job) -> None:
        action = job.subject
        assert isinstance(action, WriteVolumes)
        stored: list[ResourceClaim] = []
        error, lost = await self._attempt(action, self._write_objects(action, stored, job.now))
        answer = VolumesAnswered(action.pod, action.uid, error, lost, tuple(stored))
        self._over(job, action, error, answer, self._pause(action.uid, error, lost))

    async def _write_objects(self, action: WriteVolumes, stored: list[ResourceClaim], now: int) -> None:
        for obj in action.objects:
            match obj:
                case ResourceClaim():
                    stored.append(await self._claim_writes.write(obj, action, now))
                case PersistentVolume() | PersistentVolumeClaim():
                    await self._volume_writes.write(obj)
                case _:
                    raise AssertionError(f"no handler for {obj}")

    async def _write_claim(self, job: Job) -> None:
        match job.subject:
            case DeallocateClaim() as action:
                error, _ = await self._attempt(action, self._claim_writes.deallocate(action))
                self._freed(job, action, error)
            case ReleaseClaim() as action:
                error, _ = await self._attempt(action, self._claim_writes.release(action))
                self._freed(job, action, error)

    def _freed(self, job: Job, action: DeallocateClaim | ReleaseClaim, error: str) -> None:
        """Only a failure is reported: else the watch shows it. The core tries again at once, so the report waits."""
        failed = ClaimWriteFailed(action.pod, action.uid, error) if error else None
        self._over(job, action, error, failed, self._pause(action.uid, error, lost=True))

    async def _attempt(self, action: Action, write: Awaitable[Any]) -> tuple[str, bool]:
        """The error, if there was one, and whether nobody knows what became of the write."""
        try:
            await write
        except LostError as error:
            return str(error) or "lost", True
        except (NotSentError, RefusedError, ClaimError) as error:
            return str(error), False
        except Exception as error:
            # A mistake of this program: the scheduler must not wait for ever.
            self._report_bug("" if isinstance(action, SetGroupCondition) else action.pod, error)
            return f"{type(error).__name__}: {error}", False
        return "", False

    def _raised(self, job: Job, error: Exception) -> None:
        """Something else than a write has failed. Whoever waits is told, perhaps for the second time."""
        self._report_bug(job.key, error)
        message = f"{type(error).__name__}: {error}"
        if isinstance(job.subject, Bind | Evict | WriteVolumes):
            answer = refusal(job.subject, message)
            if answer is not None:
                self._on_answer(answer)
        if job.then is not None:
            job.then(message)

    def _report_bug(self, about: str, error: Exception) -> None:
        if self._on_bug is not None:
            self._on_bug(about, error)

    def _over(self, job: Job, action: Action, error: str, answer: Event | None = None, pause_s: float = 0.0) -> None:
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

    def _refuse(self, action: Evict, error: str) -> None:
        self._count(action, error)
        self._on_answer(EvictAnswered(action.pod, action.uid, error))

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

    def _remember_version(self, action: Bind) -> None:
        """Events about the binding are about the pod as it was when it was decided."""
        self._tried_versions.remember(action.uid, _version(self._pods.seen(action.pod)))

    def _emit(self, event: Emit, now: int) -> None:
        seen = self._pods.seen(event.pod)
        version = self._tried_versions.pop(event.uid, None)
        controller = seen.spec.scheduler_name if seen is not None else ""
        self._events.say(event, version or _version(seen), controller or DEFAULT_SCHEDULER_NAME, now)


def _pod(found: Object | None) -> Pod | None:
    return found if isinstance(found, Pod) else None


def _version(obj: Object | None) -> str:
    return "" if obj is None else obj.metadata.resource_version
