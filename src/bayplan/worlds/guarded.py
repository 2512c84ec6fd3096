"""A scheduler that survives its own bugs: an exception that nobody expected costs one pod an attempt, not the process.

Takes a scheduler and does what it does. If an attempt raises, the pod backs off as after any other error. If more
was under way, or an event raised, the scheduler's memory may be half written: it starts over with all objects there
are, as a new process would, but keeps what pods have been through and what is being bound. An object that cannot be
taken in is left out, a pod with its node, until it changes. When nothing works any more, `NothingWorksError` ends it.

Not for simulations and the Python API, where a bug is to be seen. Times are those of the caller, so that a replay does
the same at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.scheduler import Scheduler
from bayplan.core.starting_over import Past
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import MICROSECOND, MINUTE, SECOND
from bayplan.worlds.bugs import ATTEMPT, EVENT, RESTORING, BugReporter, internal_error
from bayplan.worlds.ledger import Ledger, Place, place_of
from bayplan.worlds.patience import Patience

#: To start over takes up to 20 us for each object, and a tenth of the time may be spent on it.
_PAUSE_PER_OBJECT_NS = 200 * MICROSECOND
_PAUSE_MIN_NS = SECOND
#: Between two tries to start over.
RETRY_NS = 10 * SECOND
#: If there is no more than a suspicion: how long to wait before starting over once more.
SUSPICION_NS = MINUTE
#: What was left out is tried once more after this time, if it has not changed.
LEFT_OUT_NS = 5 * MINUTE
#: How long to wait for answers that tell what is being written.
ANSWERED_WITHIN_NS = 30 * SECOND
#: If more objects than this cannot be taken in, they are not what is wrong.
LEFT_OUT_MAX = 20


class History(Protocol):
    """Hears of everything that a replay needs, before the ledger does."""

    def event(self, event: Event, now: int) -> None: ...
    def decision(self, decision: Decision, now: int) -> None: ...


class _Bug(NamedTuple):
    where: str
    about: str
    error: Exception


class GuardedScheduler:
    """What a world needs of a scheduler; nothing but NothingWorksError is raised."""

    def __init__(
        self,
        scheduler: Scheduler,
        on_bug: BugReporter,
        *,
        ledger: Ledger | None = None,
        history: History | None = None,
    ) -> None:
        self.scheduler = scheduler
        self._ledger = ledger or Ledger()
        self._history = history
        self._on_bug = on_bug
        self._patience = Patience()
        self._met: list[_Bug] = []  # and not reported yet
        self.is_broken = False
        """The scheduler must not be asked before it has started over; to be read only."""
        self._starts_over_at: int | None = None
        self._started_over_at: int | None = None
        self._message = ""  # for the pod whose attempt could not be finished
        self._past: Past | None = None  # from the first try to start over
        self._left_out: set[Place] = set()

    # ------------------------------------------------------------------ events in

    def observe(self, event: Event, now: int) -> None:
        if self._history is not None:
            self._history.event(event, now)
        self._ledger.observe(event)
        if self.is_broken:
            return
        if self._left_out and _place_in(event) in self._left_out:
            self._plan_to_start_over(now, SUSPICION_NS)  # perhaps it can be taken in now, or is gone
            return
        try:
            self.scheduler.observe(event, now)
        except Exception as error:
            self._met.append(_Bug(EVENT, _name(_place_in(event)), error))
            self._break(now)
            self._report()

    # ------------------------------------------------------------------ decisions out

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None:
        try:
            decision = self._decide(now, clock)
            if decision is not None:
                self._ledger.ask(decision.actions)
                if self._history is not None:
                    self._history.decision(decision, now)
            return decision
        finally:
            if self._met:
                self._report()

    def due_at(self, now: int) -> int | None:
        starts_at = self._starts_over_at
        if starts_at is not None and starts_at <= now:
            return starts_at + ANSWERED_WITHIN_NS if self._waits_for_answers(now) else now
        if self.is_broken:
            return starts_at
        try:
            due = self.scheduler.due_at(now)
        except Exception as error:
            self._met.append(_Bug(ATTEMPT, "", error))
            self._break(now)
            self._report()
            return self._starts_over_at
        return due if due is None or starts_at is None else min(due, starts_at)

    def _decide(self, now: int, clock: Callable[[], int] | None) -> Decision | None:
        if self._starts_over_at is not None and self._starts_over_at <= now:
            return self._start_over(now)
        if self.is_broken:
            return None
        try:
            decision = self.scheduler.decide(now, clock)
        except Exception as error:
            return self._after(error, now)
        if decision is not None and (decision.pod or decision.group):
            self._patience.succeeded()
        return decision

    def _after(self, error: Exception, now: int) -> Decision | None:
        """An attempt raised: the pod goes back if that is all there is to it."""
        about = self.scheduler.interrupted
        self._met.append(_Bug(ATTEMPT, about, error))
        self._patience.failed(about, error, now)
        self._message = internal_error(error)
        try:
            decision = self.scheduler.abandon_attempt(self._message, now)
        except Exception as another:
            self._met.append(_Bug(ATTEMPT, about, another))
            decision = None
        if decision is None:
            self._break(now)
            return self._start_over(now) if self._starts_over_at == now else None
        self._plan_to_start_over(now, SUSPICION_NS)  # tables are also filled by those who only look something up
        return decision

    def _report(self) -> None:
        met, self._met = self._met, []
        for bug in met:
            self._on_bug(*bug)

    # ------------------------------------------------------------------ starting over

    def _break(self, now: int) -> None:
        self.is_broken = True
        self._plan_to_start_over(now, max(_PAUSE_PER_OBJECT_NS * len(self._ledger.known), _PAUSE_MIN_NS))

    def _plan_to_start_over(self, now: int, pause_ns: int) -> None:
        last = self._started_over_at
        at = now if last is None else max(now, last + pause_ns)
        self._starts_over_at = at if self._starts_over_at is None else min(at, self._starts_over_at)

    def _waits_for_answers(self, now: int) -> bool:
        """Devices may be given to a pod by a write that is under way: nobody could know when starting over."""
        starts_at = self._starts_over_at
        return self._ledger.awaits_writes and starts_at is not None and now < starts_at + ANSWERED_WITHIN_NS

    def _start_over(self, now: int) -> Decision | None:
        """The attempt that this ends, if there was one; else a decision without a pod, so that a journal shows it."""
        if self._waits_for_answers(now):
            return None
        self._started_over_at, self._starts_over_at = now, None
        past = self._restore_all(now)
        self.is_broken = past is None
        if past is None:
            self._plan_to_start_over(now, RETRY_NS)
            return Decision("", Outcome.NO_POD)
        self._past = None
        if self._left_out:
            self._plan_to_start_over(now, LEFT_OUT_NS)
        return past.decision(self._message) or Decision("", Outcome.NO_POD)

    def _restore_all(self, now: int) -> Past | None:
        """None if it has not worked. What raises twice is left out, and each time everything is begun once more."""
        self._left_out.clear()
        raised: Counter[Place] = Counter()
        error: Exception | None = None
        while len(self._left_out) <= LEFT_OUT_MAX:
            try:
                past = self.scheduler.start_over(now)
            except Exception as unexpected:
                self._met.append(_Bug(RESTORING, "", error := unexpected))
                break
            past = self._past = self._past or past
            error = self._restore(past, raised, now)
            if error is None:
                return past
        assert error is not None
        self._patience.failed(f"{RESTORING} at {now}", error, now)
        return None

    def _restore(self, past: Past, raised: Counter[Place], now: int) -> Exception | None:
        """What one of the objects has raised, if one has."""
        for obj in self._ledger.in_order(past):
            place = place_of(obj)
            if place in self._left_out:
                continue
            try:
                self.scheduler.restore(obj, past, self._ledger.bindings.get(obj.metadata.uid), now)
            except Exception as error:
                self._met.append(_Bug(RESTORING, _name(place), error))
                raised[place] += 1
                if raised[place] > 1:
                    self._leave_out(obj)
                return error
        return None

    def _leave_out(self, obj: Object) -> None:
        """A pod with its node, to which no other is to be sent as nobody knows how much room there is."""
        self._left_out.add(place_of(obj))
        if isinstance(obj, Pod):
            under_way = self._ledger.bindings.get(obj.metadata.uid)
            node = obj.spec.node_name if under_way is None else under_way.bind.node
            if node:
                self._left_out.add(("Node", f"/{node}"))


def _place_in(event: Event) -> Place:
    if isinstance(event, ObjectAdded | ObjectChanged):
        return place_of(event.new)
    return place_of(event.old) if isinstance(event, ObjectRemoved) else ("Pod", event.pod)


def _name(place: Place) -> str:
    kind, key = place
    return f"{kind} {key.lstrip('/')}"
