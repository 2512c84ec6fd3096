"""A scheduler at work on a real cluster: what the watches say goes in, what it decides goes out.

Takes a scheduler, a writer and the kinds to watch, on one event loop. Decides in short turns between reading and
writing, and only while it may: when every kind has been listed once, when it leads, and while not too many bindings are
unanswered. With extenders a decision may wait for somebody else, so it is made in a thread, and what happens meanwhile
is observed afterwards. Writes nothing itself and keeps no journal: see `client.writes` and `live_observers`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

from bayplan.client.contract import ApiClient
from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.reflector import Reflector
from bayplan.client.watched_kinds import WatchedKind
from bayplan.core.actions import Action, Bind
from bayplan.core.decision import Decision
from bayplan.core.events import BindAnswered, Event
from bayplan.model.kinds import Object
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.performing.actions import answer_to
from bayplan.worlds.bugs import EVENT, WATCH, WRITE, BugReporter, internal_error, not_survived
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.live_observers import LiveObserver, Observers

#: How long decisions may keep reading and writing waiting.
TURN_NS = 5 * MILLISECOND
#: Decisions do not run further ahead of the API server than this.
UNANSWERED_BINDINGS_MAX = 500
#: How long a trouble waits for others with the same cause.
_GATHERS_TROUBLE_S = 0.5
#: How long to wait after a bug before a kind is listed again.
_LISTS_AGAIN_S = 5.0
#: Who may not decide looks this often whether that has changed.
_LOOKS_EVERY_S = 0.1


_Incoming: TypeAlias = Callable[[Event, int], Iterable[Event]]


class ActionWriter(Protocol):
    """Performs actions; answers come back as events, later."""

    def perform_all(self, actions: Sequence[Action], now: int) -> None:
        """What one decision asks for."""


class SystemClock:
    """The system's time in nanoseconds, which never runs backward."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> int:
        now = time.time_ns()
        self._last = now if now > self._last else self._last
        return self._last


class LiveWorld:
    """Between the watches of an API server, a scheduler, and who performs its actions."""

    def __init__(
        self,
        scheduler: DecidingScheduler,
        client: ApiClient,
        kinds: Sequence[WatchedKind],
        *,
        clock: Callable[[], int],
        observers: Sequence[LiveObserver] = (),
        may_decide: Callable[[], bool] = lambda: True,
        incoming: _Incoming | None = None,
        on_trouble: Callable[[str], None] | None = None,
        decides_in_thread: bool = False,
        documents: KeptDocuments | None = None,
        on_bug: BugReporter = not_survived,
    ) -> None:
        """`on_bug` is told of exceptions that nobody expected; the scheduler sees to its own."""
        self.scheduler = scheduler
        self.observers = Observers(observers, on_bug)
        self._on_bug = on_bug
        self._clock = clock
        self._on_trouble = on_trouble
        self._decides_in_thread = decides_in_thread
        self._documents = documents
        self._reflectors = {kind.info.kind: Reflector(client, kind, self, documents=documents) for kind in kinds}
        self._early: dict[str, deque[Event]] = {kind.info.kind: deque() for kind in kinds}
        self._unsynced = set(self._reflectors)
        self._indispensable = {kind.info.kind for kind in kinds if kind.is_indispensable}
        self._suffering: dict[str, dict[str, str]] = {}  # cause -> kind -> what is to be reported
        self._refused: set[str] = set()  # kinds that may be given once the server has started
        self._asked_again: set[str] = set()  # those of them that were refused before
        self._during_decision: list[Event] | None = None
        self._unanswered: set[str] = set()  # uids of pods that are being bound
        self._news = asyncio.Event()
        self._synced = asyncio.Event()
        self._opened = asyncio.Event()  # all lists are in and have been observed
        self._may_decide = may_decide
        self._incoming = incoming  # what the scheduler observes instead of an event of the watch
        self._writer: ActionWriter | None = None

    # ------------------------------------------------------------------ what others see

    @property
    def is_synced(self) -> bool:
        """Whether everything there is has been observed."""
        return self._opened.is_set()

    @property
    def unanswered(self) -> int:
        """Bindings that were sent and not answered."""
        return len(self._unanswered)

    def find(self, kind: str, key: str) -> Object | None:
        """An object as the API server last showed it."""
        reflector = self._reflectors.get(kind)
        return None if reflector is None else reflector.known.get(key)

    def objects(self, kind: str) -> Mapping[str, Object]:
        """All objects of a kind by their keys, as the API server last showed them."""
        reflector = self._reflectors.get(kind)
        return {} if reflector is None else reflector.known

    def troubles(self) -> Mapping[str, str]:
        """What is wrong with the watch of each kind; empty where nothing is."""
        return {kind: reflector.trouble for kind, reflector in self._reflectors.items()}

    async def opened(self) -> None:
        """Returns once everything there is has been observed."""
        await self._opened.wait()

    def wake(self) -> None:
        """Deciding may be allowed now."""
        self._news.set()

    # ------------------------------------------------------------------ events in

    def on_events(self, kind: str, events: Sequence[Event]) -> None:
        if self._incoming is not None:
            now = self._clock()
            events = [passed for event in events for passed in self._passed(self._incoming, event, now)]
        if self._opened.is_set():
            self._observe(events)
        else:
            self._early[kind].extend(events)

    def _passed(self, incoming: _Incoming, event: Event, now: int) -> Iterable[Event]:
        try:
            return incoming(event, now)
        except Exception as error:
            self._on_bug(EVENT, type(event).__name__, error)
            return (event,)

    def on_synced(self, kind: str) -> None:
        self._unsynced.discard(kind)
        if not self._unsynced:
            self._synced.set()
        elif kind in self._indispensable and self._is_in_earnest:
            for refused in self._refused:
                self._ask_again(refused)

    def on_refused(self, kind: str) -> None:
        if kind in self._asked_again:
            self.on_synced(kind)
        elif self._is_in_earnest:
            self._ask_again(kind)
        else:
            self._refused.add(kind)

    def _ask_again(self, kind: str) -> None:
        self._asked_again.add(kind)
        self._reflectors[kind].hurry()

    @property
    def _is_in_earnest(self) -> bool:
        """Whether the server means it when it refuses something: it has given what nobody can do without."""
        return self._unsynced.isdisjoint(self._indispensable)

    def on_trouble(self, kind: str, message: str, cause: str = "") -> None:
        """What many kinds suffer from, such as a server that is away, is reported once."""
        if self._on_trouble is None:
            return
        if not cause:
            self._on_trouble(message)
            return
        if cause not in self._suffering:
            asyncio.get_running_loop().call_later(_GATHERS_TROUBLE_S, self._report_common, cause)
        self._suffering.setdefault(cause, {})[kind] = message

    def _report_common(self, cause: str) -> None:
        assert self._on_trouble is not None
        messages = self._suffering.pop(cause)
        if len(messages) == 1:
            self._on_trouble(*messages.values())
        else:
            self._on_trouble(f"failed to list or watch {len(messages)} kinds ({', '.join(sorted(messages))}): {cause}")

    def answer(self, event: Event) -> None:
        """What became of an action."""
        if isinstance(event, BindAnswered):
            self._unanswered.discard(event.uid)
        self._observe((event,))

    def _observe(self, events: Iterable[Event]) -> None:
        if self._during_decision is not None:
            self._during_decision.extend(events)
            return
        now = self._clock()
        for event in events:
            self.scheduler.observe(event, now)
            self.observers.observed(event, now)
        self._news.set()

    # ------------------------------------------------------------------ the loop

    async def run(self, writer: ActionWriter) -> None:
        """Until cancelled."""
        self._writer = writer
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors.values():
                tasks.create_task(self._follow(reflector))
            await self._open()
            while True:
                await self._turn()

    async def _follow(self, reflector: Reflector) -> None:
        """Until cancelled; after a bug it begins with a list again."""
        while True:
            try:
                await reflector.run()
            except Exception as error:
                self._on_bug(WATCH, reflector.kind, error)
                await asyncio.sleep(_LISTS_AGAIN_S)

    async def _open(self) -> None:
        """Once everything is listed, observe it, kind by kind."""
        await self._synced.wait()
        for events in self._early.values():
            while events:
                end = time.perf_counter_ns() + TURN_NS
                while events and time.perf_counter_ns() < end:
                    self._observe((events.popleft(),))
                await asyncio.sleep(0)
        # What came for a kind that had been gone through already.
        for events in self._early.values():
            self._observe(events)
            events.clear()
        self._opened.set()

    async def _turn(self) -> None:
        self._news.clear()
        due = await self._decide_in_thread() if self._decides_in_thread else self._decide_for_a_while()
        if due is not None and due <= self._clock():
            await asyncio.sleep(0)
            return
        wait_s = None if due is None else (due - self._clock()) / SECOND
        if not self._may_decide():
            wait_s = _LOOKS_EVERY_S
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._news.wait()

    def _decide_for_a_while(self) -> int | None:
        """When to decide next; None: not before there is news."""
        end = time.perf_counter_ns() + TURN_NS
        while True:
            now = self._clock()
            due = self._due(now)
            if due is None or due > now or time.perf_counter_ns() > end:
                return due
            started_at = time.perf_counter_ns()
            decision = self.scheduler.decide(now)
            if decision is not None:
                self._send(decision, now, time.perf_counter_ns() - started_at)

    async def _decide_in_thread(self) -> int | None:
        now = self._clock()
        due = self._due(now)
        if due is None or due > now:
            return due
        started_at = time.perf_counter_ns()
        self._during_decision = []
        try:
            decision = await asyncio.to_thread(self.scheduler.decide, now, self._clock)
        finally:
            missed, self._during_decision = self._during_decision, None
            if self._documents is not None:
                self._documents.sweep()
        if decision is not None:
            self._send(decision, now, time.perf_counter_ns() - started_at)
        self._observe(missed)
        return self._due(now)

    def _due(self, now: int) -> int | None:
        if not self._may_decide() or len(self._unanswered) >= UNANSWERED_BINDINGS_MAX:
            return None
        return self.scheduler.due_at(now)

    def _send(self, decision: Decision, now: int, took_ns: int) -> None:
        assert self._writer is not None
        self.observers.decided(decision, now, took_ns)
        self._unanswered.update(action.uid for action in decision.actions if isinstance(action, Bind))
        try:
            self._writer.perform_all(decision.actions, decision.ended_at or now)
        except Exception as error:
            self._on_bug(WRITE, decision.pod or decision.group, error)
            for action in decision.actions:
                answer = answer_to(action, internal_error(error))
                if answer is not None:
                    self.answer(answer)
