"""A whole cluster in virtual time: store, controllers and scheduler, repeatable from a seed.

Time jumps from one due time to the next. At each instant everything that follows from what is known then is done
before time moves on: writes reach the controllers at once, and the scheduler after the watch's delay; actions take
effect after the API's delay, and their answers come after another. The order of things that are due at the same
instant is fixed: what was planned first comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from bayplan.controllers.contract import Controller
from bayplan.core.actions import Action, Bind, Emit, Evict, SetCondition, WriteVolumes
from bayplan.core.decision import Decision
from bayplan.core.events import Answer, Event
from bayplan.model.kinds import ALL_KINDS, Object, object_key
from bayplan.model.watch_types import ADDED
from bayplan.performing.actions import answer_to
from bayplan.performing.preemption import PreemptionWrites
from bayplan.store import Store, WatchEvent
from bayplan.worlds.bugs import WRITE, BugReporter, internal_error, not_survived
from bayplan.worlds.delayed_watch import NEVER, DelayedWatch
from bayplan.worlds.delays import Draws
from bayplan.worlds.driving import DecidingScheduler, rare_collections
from bayplan.worlds.faults import CONFLICT, NO_FAULTS, TIMEOUT, FaultRates, Spoiled
from bayplan.worlds.performing import EmittedEvent, Performer

#: More rounds than this at one instant mean that the world goes round in circles.
ROUNDS_AT_ONCE_MAX = 1_000_000
SLOW_FACTOR = 100
_ANSWERED = frozenset((Bind, Evict, WriteVolumes))
#: When, a number for the order of equal times, and what is to be done then.
_Planned: TypeAlias = tuple[int, int, Callable[[int], object]]
_Hear: TypeAlias = Callable[[Event, int], None]
#: The controllers that want to hear of a kind: which they are, and how they are told.
_Listeners: TypeAlias = tuple[list[int], list[Callable[[WatchEvent, int], None]]]


@dataclass(slots=True)
class _Sent:
    """A condition on its way."""

    action: SetCondition
    arrives: int
    number: int  # for the order of what arrives at one time


class SimulatedWorld:
    """Drives a scheduler and controllers over a store."""

    def __init__(
        self,
        store: Store,
        scheduler: DecidingScheduler,
        controllers: Sequence[Controller],
        draws: Draws,
        *,
        started_at: int,
        scheduler_store: Store | None = None,
        controller_store: Callable[[Controller], Store] | None = None,
        faults: FaultRates = NO_FAULTS,
        on_event: _Hear | None = None,
        on_decision: Callable[[Decision, int], None] | None = None,
        on_emitted: Callable[[EmittedEvent], None] | None = None,
        on_bug: BugReporter = not_survived,
    ) -> None:
        """`on_bug` is told of exceptions that nobody expected where actions are performed, which count as refused then.

        The scheduler and the controllers see to their own.
        """
        self.now = started_at
        self.store = store
        self.scheduler = scheduler
        self._controllers = list(controllers)
        self._stores = [store if controller_store is None else controller_store(one) for one in self._controllers]
        self._draws = draws
        self._on_bug = on_bug
        self._faults = faults
        self._performer = Performer(scheduler_store or store, on_emitted, on_bug)
        self._emit = None if on_emitted is None else self._performer.emit
        self._hear = scheduler.observe if on_event is None else _told_first(on_event, scheduler.observe)
        self._on_decision = on_decision
        self._watch = DelayedWatch(store)
        self._cursor = store.watch(essential=True)
        self._planned: list[_Planned] = []
        self._sequence = count()
        self._idle_conditions: dict[str, _Sent] = {}  # by pod, those sent last that say nothing new
        self._scheduler_free_at = started_at
        self._scheduler_acts_at = started_at  # when it wants to decide and is free to
        self._controller_due = [*[started_at] * len(self._controllers), NEVER]  # the last one is nobody's
        self._controllers_act_at = min(self._controller_due)  # at once if one of them has news
        self._listeners = {kind: _listeners(kind, self._controllers) for kind in ALL_KINDS}
        self._wake_at = [controller.wake_at for controller in self._controllers]
        self._everybody = range(len(self._controllers))
        self._with_news: set[int] = set()  # positions of controllers that may want to act at another time now
        for event in self._watch.start():
            self._observe(event, started_at)
        for obj in store.list_and_watch().objects:
            self._inform_controllers_of(obj)
        self._ask_scheduler()

    def at(self, time: int, do: Callable[[int], None]) -> None:
        """Plan something, such as a user's command. It may change what a controller knows without a write."""

        def command(now: int) -> None:
            do(now)
            if self._everybody:
                self._with_news.update(self._everybody)
                self._controllers_act_at = now

        self._plan(time, command)

    def _plan(self, time: int, do: Callable[[int], object]) -> None:
        heappush(self._planned, (time if time > self.now else self.now, next(self._sequence), do))

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is on its way: no command, no action or answer, no news."""
        return not self._planned and not self._cursor.behind and self._watch.due == NEVER

    def run_until(self, end: int) -> int:
        """Let time pass up to and including `end`; when something is due next."""
        due = self.run_until_quiet(end)
        self.now = max(self.now, end)
        return due

    def run_until_quiet(self, end: int) -> int:
        """Let time pass until nothing is due before `end`; time stands still at the last thing that happened."""
        with rare_collections():
            return self._pass_time(end)

    def _pass_time(self, end: int) -> int:
        """Do what is due at this instant in rounds, until nothing is left; then go on to the next one.

        All that a simulated day takes passes through here, so it asks plain attributes rather than calling anybody.
        """
        now, rounds = self.now, 0
        planned, cursor, log, watch = self._planned, self._cursor, self.store.log, self._watch
        hear = self._hear
        while True:
            if planned and planned[0][0] <= now:
                self._do_planned()
            if cursor.resource_version < log.resource_version:
                self._inform()
            if watch.due <= now:
                watch.deliver(now, hear)
                self._ask_scheduler()
            if self._controllers_act_at <= now:
                self._let_controllers_act()
            if self._scheduler_acts_at <= now:
                self._decide()
            if cursor.resource_version == log.resource_version:
                due = planned[0][0] if planned else NEVER
                due = delivered_at if (delivered_at := watch.due) < due else due
                due = act_at if (act_at := self._controllers_act_at) < due else due
                due = decided_at if (decided_at := self._scheduler_acts_at) < due else due
                if due > now:
                    if due > end:
                        return due
                    self.now = now = due
                    rounds = 0
                    continue
            rounds += 1
            assert rounds < ROUNDS_AT_ONCE_MAX, f"the world does not settle at {now}"

    def _do_planned(self) -> None:
        now, planned = self.now, self._planned
        while True:
            heappop(planned)[2](now)
            if not planned or planned[0][0] > now:
                return

    def _inform(self) -> None:
        """Writes reach the controllers at once, and are put on their way to the scheduler."""
        now, listeners, with_news = self.now, self._listeners, self._with_news
        changes = self._cursor.read()
        for change in changes:
            positions, observers = listeners[change.kind]
            for observe in observers:
                observe(change, now)
            with_news.update(positions)
        if with_news:
            self._ask_controllers()
        if self._idle_conditions:
            self._plan_conditions_of(changes)
        delay = self._draws.watch()
        if self._faults is not NO_FAULTS:
            delay = self._spoil_watch(delay, changes)
        self._watch.deliver_later(changes, now + delay)

    def _spoil_watch(self, delay: int, changes: Sequence[WatchEvent]) -> int:
        faults, random, slow = self._faults, self._draws.random, SLOW_FACTOR * delay
        if faults.happens(faults.slow_watch, random, self.now):
            delay = slow
        if faults.happens(faults.watch_gap, random, self.now):
            self._watch.break_watch(changes, self.now + slow)
        return delay

    def _ask_controllers(self) -> None:
        """Those with news say when they want to act, as nothing else changes their minds."""
        times, wake_at, with_news = self._controller_due, self._wake_at, self._with_news
        for position in with_news:
            due = wake_at[position]()
            times[position] = NEVER if due is None else due
        with_news.clear()
        self._controllers_act_at = min(times)

    def _let_controllers_act(self) -> None:
        """Those whose time it is; they have news then, and are asked again."""
        if self._with_news:
            self._ask_controllers()
        now = self.now
        for position, due in enumerate(self._controller_due):
            if due <= now:
                self._controllers[position].reconcile(self._stores[position], now)
                self._with_news.add(position)

    def _ask_scheduler(self) -> None:
        """When the scheduler wants to decide, after it has heard or done something, and is free to."""
        due, free_at = self.scheduler.due_at(self.now), self._scheduler_free_at
        self._scheduler_acts_at = NEVER if due is None else due if due > free_at else free_at

    def _decide(self) -> None:
        now = self.now
        decision = self.scheduler.decide(now)
        if decision is not None:
            if self._on_decision is not None:
                self._on_decision(decision, now)
            if decision.pod or decision.group:
                self._scheduler_free_at = now + self._draws.latencies.decision_ns
            try:
                self._send_all(decision.actions)
            except Exception as error:
                self._on_bug(WRITE, decision.pod or decision.group, error)
                self._refuse_all(decision.actions, internal_error(error))
        self._ask_scheduler()

    def _refuse_all(self, actions: Sequence[Action], error: str) -> None:
        """Whoever waits for an answer gets one; it does no harm if the action was sent after all."""
        for action in actions:
            answer = answer_to(action, error)
            if answer is not None:
                self._plan(self.now, partial(self._observe, answer))

    def _send_all(self, actions: Sequence[Action]) -> None:
        """Each on its own, but evictions one after another, as the scheduler's order of victims has it."""
        now, draws = self.now, self._draws
        evicted_at = now
        preemption: PreemptionWrites | None = None
        for action in actions:
            # Nothing is below these types, and `isinstance` takes its time to say no.
            if type(action) is Emit:
                if self._emit is not None:
                    self._emit(action, now)  # nothing depends on when it arrives
            elif type(action) is SetCondition:
                self._send_condition(action)
            elif type(action) is Evict:
                evicted_at += draws.eviction()
                preemption = preemption or PreemptionWrites(actions)
                self._send(action, evicted_at, preemption)
            else:
                self._send(action, now + draws.api())

    def _send_condition(self, action: SetCondition) -> None:
        """One that says what the pod says already, as most do, is not planned unless the pod changes on its way."""
        now, draws = self.now, self._draws
        arrives, number = now + draws.api(), next(self._sequence)
        draws.skip_api()  # for an answer that nobody waits for
        earlier = self._idle_conditions.get(action.pod)
        # Where the same is still noted from the last time, the pod has not changed. If it has done so at this instant,
        # and nobody was told yet, this one is planned when that is told.
        if (earlier is None or earlier.action is not action) and not self._performer.is_idle(action):
            self._plan_condition(_Sent(action, arrives, number))
            return
        if earlier is None:
            self._idle_conditions[action.pod] = _Sent(action, arrives, number)
            return
        if earlier.arrives >= now:
            self._plan_condition(earlier)
        earlier.action, earlier.arrives, earlier.number = action, arrives, number

    def _plan_conditions_of(self, changes: Sequence[WatchEvent]) -> None:
        """Conditions on their way to these pods may say something new after all."""
        for change in changes:
            if change.kind == "Pod":
                sent = self._idle_conditions.pop(object_key(change.new), None)
                if sent is not None and sent.arrives >= self.now:
                    self._plan_condition(sent)

    def _plan_condition(self, sent: _Sent) -> None:
        planned: _Planned = (sent.arrives, sent.number, partial(self._performer.perform, sent.action))
        heappush(self._planned, planned)

    def _observe(self, event: Event, now: int) -> None:
        self._hear(event, now)
        self._ask_scheduler()

    def _send(self, action: Action, arrives: int, preemption: PreemptionWrites | None = None) -> None:
        draws, spoiled = self._draws, None
        if type(action) in _ANSWERED:
            spoiled = self._faults.spoil(draws.random, self.now)
        self._plan(arrives, partial(self._arrive, action, spoiled, arrives + draws.api(), preemption))

    def _arrive(
        self, action: Action, spoiled: Spoiled | None, answered: int, preemption: PreemptionWrites | None, now: int
    ) -> None:
        if preemption is not None and preemption.spares(action):
            answer = answer_to(action, preemption.error)
        else:
            answer = self._performer.perform(action, now) if spoiled is None else self._spoil(action, spoiled, now)
        if answer is not None:
            if preemption is not None:
                preemption.over(action, answer.error)
            self._plan(answered, partial(self._observe, answer))

    def _spoil(self, action: Action, spoiled: Spoiled, now: int) -> Answer | None:
        if spoiled is Spoiled.REFUSED:
            return answer_to(action, CONFLICT)
        if spoiled is Spoiled.LOST_ANSWER:
            self._performer.perform(action, now)
        return answer_to(action, TIMEOUT, lost=True)

    def _inform_controllers_of(self, obj: Object) -> None:
        change = WatchEvent(ADDED, type(obj).__name__, None, obj, 0, self.now)
        _, observers = self._listeners[change.kind]
        for observe in observers:
            observe(change, self.now)


def _listeners(kind: str, controllers: Sequence[Controller]) -> _Listeners:
    positions = [position for position, controller in enumerate(controllers) if kind in controller.watches]
    return positions, [controllers[position].observe for position in positions]


def _told_first(on_event: _Hear, observe: _Hear) -> _Hear:
    def hear(event: Event, now: int) -> None:
        on_event(event, now)
        observe(event, now)

    return hear
