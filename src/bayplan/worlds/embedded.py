"""A cluster in one process, on the system clock: the simulated world, let run as real time passes.

Takes a registry, whose documents clients change over HTTP at the same time, and what the simulation takes: a scheduler
and controllers. The world runs in short turns between requests, so that neither keeps the other waiting; when nothing
is due it sleeps until something is, or until somebody writes. A turn that is not short after all, as somebody has made
a pod with thousands of containers or deleted an owner of thousands, goes on beside the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from bayplan.apiserver.housekeeping.standard import Housekeeping
from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.turns import WorkingThread
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.contract import Controller
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.core.decision import Decision
from bayplan.core.events import Event
from bayplan.model.time_units import MICROSECOND, MILLISECOND
from bayplan.worlds.bugs import WORLD, BugReporter, not_survived
from bayplan.worlds.claim_news import ClaimNews
from bayplan.worlds.clock import Clock
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.event_recording import EventRecorder
from bayplan.worlds.event_writing import EventWriter
from bayplan.worlds.patience import NothingWorksError
from bayplan.worlds.resilient_controllers import ResilientController
from bayplan.worlds.simulated import SimulatedWorld

_log = logging.getLogger(__name__)

#: How much of its time the world may catch up on before requests are looked at again.
TURN_NS = 5 * MILLISECOND
#: When nothing is due: how long to sleep before looking at the clock again.
_SLEEP_MAX_S = 1.0


class NoScheduler:
    """In place of a scheduler, where somebody else's is to do the work."""

    def observe(self, event: Event, now: int) -> None:
        pass

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None:
        pass

    def due_at(self, now: int) -> int | None:
        pass


def embedded_latencies(speed: float, typical: Latencies) -> Latencies:
    """No delay where nothing is sent anywhere; kubelets take their time, divided by the speed."""
    return Latencies(
        decision_ns=100 * MICROSECOND,
        api_ns=0,
        eviction_ns=0,
        watch_ns=0,
        pod_start_ns=int(typical.pod_start_ns / speed),
        pod_stop_ns=int(typical.pod_stop_ns / speed),
        provision_ns=int(typical.provision_ns / speed),
        jitter=typical.jitter,
    )


class EmbeddedWorld:
    """Scheduler, controllers and housekeeping at work on the documents of a registry."""

    def __init__(
        self,
        registry: Registry,
        scheduler: DecidingScheduler,
        controllers: Callable[[], Sequence[Controller]],
        draws: Draws,
        clock: Clock,
        on_decision: Callable[[Decision, int], None] | None = None,
        housekeeping: Housekeeping | None = None,
        on_bug: BugReporter = not_survived,
    ) -> None:
        """`controllers` makes a fresh set; `on_bug` is told of exceptions that nobody expected."""
        self._clock = clock
        self._on_bug = on_bug
        self._housekeeping = housekeeping
        self._news = asyncio.Event()
        recorder = EventRecorder(registry)
        self._events = EventWriter(registry, clock())
        self._turns = registry.turns
        self._world = SimulatedWorld(
            ProjectedStore(registry, "kube-controller-manager"),
            scheduler,
            self._resilient(controllers, recorder),
            draws,
            started_at=clock(),
            scheduler_store=ProjectedStore(registry, "kube-scheduler"),
            controller_store=lambda controller: _store_of(controller, registry, recorder),
            on_decision=on_decision,
            on_emitted=self._events.write,
            on_bug=on_bug,
        )
        self._due = self._world.now
        self._stop_following = registry.storage.follow(self._note)

    def _resilient(
        self, make: Callable[[], Sequence[Controller]], recorder: EventRecorder
    ) -> list[ResilientController]:
        def make_one(position: int) -> Controller:
            return make()[position]

        makers: list[Callable[[], Controller]] = [partial(make_one, position) for position in range(len(make()))]
        if makers:
            makers.append(lambda: ClaimNews(recorder.write))
        return [ResilientController(each, _report, self._on_bug) for each in makers]

    def _note(self, change: DocumentChange) -> None:
        if self._housekeeping is not None:
            self._housekeeping.observe(change)
        self._news.set()

    def wake(self) -> None:
        """Has the world look at the clock, which somebody has set."""
        self._news.set()

    async def run(self) -> None:
        """Lets the world go on until cancelled."""
        thread = WorkingThread()
        try:
            while True:
                try:
                    await self._turn(thread)
                except NothingWorksError:
                    raise
                except Exception as error:
                    self._on_bug(WORLD, "", error)
                    await asyncio.sleep(_SLEEP_MAX_S)
        finally:
            thread.close()
            self._stop_following()

    async def _turn(self, thread: WorkingThread) -> None:
        due = await self._turns.done_beside(thread, self._go_on)
        if due is None:
            await asyncio.sleep(0)
        else:
            await self._sleep(due - self._clock())

    def _go_on(self) -> int | None:
        """What is due, or the first of it; when something is due next, None if that is now."""
        self._news.clear()
        now = self._clock()
        if self._housekeeping is not None:
            self._housekeeping.reconcile(now)
        self._events.write_due(now)
        due = self._due = self._world.run_until(min(now, max(self._world.now, self._due) + TURN_NS))
        if self._world.now < now and due <= now:
            return None
        self._world.run_until(now)
        return due

    async def _sleep(self, duration_ns: int) -> None:
        """Until something is due or somebody has written."""
        if self._news.is_set():
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(min(max(self._clock.real_seconds(duration_ns), 0.0), _SLEEP_MAX_S)):
                await self._news.wait()
        except TimeoutError:
            pass


def _report(controller: str, refusal: str) -> None:
    _log.warning("%s: the API refused a write: %s", controller, refusal)


def _store_of(controller: Controller, registry: Registry, recorder: EventRecorder) -> ProjectedStore:
    """What the controller writes to: under its manager's name, and with Events about what it does."""
    manager = "kubelet" if controller.name == Kubelet.name else "kube-controller-manager"
    return ProjectedStore(
        registry,
        manager,
        on_write=partial(recorder.hear, controller),
        on_refused=partial(recorder.hear_refusal, controller),
    )
