"""A small cluster to which random things happen, all from one seed.

The seed draws the cluster's character, what it is furnished with, and what happens when; the tables are in
`character`, `cluster`, `workloads`, `pods`, `changes` and `objects`. All
controllers of a cluster run. In half of the worlds the API refuses, forgets and stalls until two thirds of the time
are over. A seed that fails is a bug report.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace as replace_fields
from functools import partial

from tests.random_worlds.changes import create_workload, draw_change, label
from tests.random_worlds.character import PRIORITIES, draw_character
from tests.random_worlds.cluster import draw_furniture
from tests.random_worlds.draw import Draw
from tests.random_worlds.moments import let_go
from tests.random_worlds.pods import CONSTRAINTS
from tests.random_worlds.targets import Change
from tests.support.decision_checks import ChoiceChecker

from bayplan.analysis.simulation.inputs.command_runner import CommandRunner, PlannedCommands
from bayplan.analysis.simulation.inputs.commands import Command, Cordon, PlannedCommand
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.device_taint_eviction import DELETED_BY_TAINT
from bayplan.controllers.standard import standard_controllers
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event, ObjectRemoved
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.instruments import Instruments
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.scheduler import Scheduler
from bayplan.model.conditions import find_condition
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceSlice
from bayplan.model.structs import replace
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.model.workloads import CronJob, ReplicationController
from bayplan.store import ApiError, Store
from bayplan.worlds.delays import Draws
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.faults import FaultRates
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
#: A world with more preemptions than this goes in circles.
PREEMPTIONS_MAX = 300
TAINT_EVICTIONS_MAX = 300
#: Long enough for pods to wait by then, and before the shortest worlds end.
RARELY_DELETED_AFTER_SECONDS = 8


class GoesInCircles(Exception):  # noqa: N818 - ends a world, but nothing is wrong
    """Pods come and go without end, as upstream.

    A preemptor and the recreated victims push each other out; or a claim that pods share keeps a device with a taint,
    from which each of them is evicted and recreated.
    """


class RandomWorld:
    """One seed's worth of trouble; in a checked one each decision is held against one made from scratch.

    `wakeups` replaces what the seed draws, `safety` limits preemption, `instruments` look into the scheduler,
    `drive` puts something between the world and the scheduler; everything else stays as it is.
    """

    def __init__(
        self,
        seed: int,
        *,
        checked: bool = False,
        wakeups: Wakeups | None = None,
        safety: PreemptionSafety = UPSTREAM,
        instruments: Instruments | None = None,
        drive: Callable[[Scheduler], DecidingScheduler] = lambda scheduler: scheduler,
        on_event: Callable[[Event, int], None] | None = None,
        on_decision: Callable[[Decision, int], None] | None = None,
    ) -> None:
        self.draw = Draw(seed)
        self.character = draw_character(self.draw, [constraint.__name__ for constraint in CONSTRAINTS])
        self.seconds = self.character.seconds
        self.store = Store()
        self.failed: list[str] = []
        self.overcommitted: set[str] = set()
        self.wakeups = wakeups or self.character.wakeups
        configuration = load_configuration(
            self.character.configuration, self.character.feature_gates, release=DEFAULT_RELEASE
        )
        configuration = replace_fields(configuration, wakeups=self.wakeups, safety=safety)
        self.checker = ChoiceChecker(build_profiles(configuration)) if checked else None
        check = self.checker.check if self.checker is not None else None
        self.scheduler = build_scheduler(configuration, started_at=STARTED_AT, on_choice=check, instruments=instruments)
        self.preemptions = self.taint_evictions = 0
        self._on_event, self._on_decision = on_event, on_decision
        for obj in draw_furniture(self.draw, self.character):
            with suppress(ApiError):  # two of one name
                self.store.create(obj, STARTED_AT)
        self.faults = self._faults()
        draws = Draws(seed, self.character.latencies)
        controllers = standard_controllers(draws, configuration.gates)
        self.world = SimulatedWorld(
            self.store,
            drive(self.scheduler),
            [*controllers],
            draws,
            started_at=STARTED_AT,
            faults=self.faults,
            on_event=self._observe,
            on_decision=self._decided,
        )
        runner = CommandRunner(self.world, controllers.kubelet, controllers.lifecycle)
        self._commands = PlannedCommands(runner, STARTED_AT)
        self._plan_changes()

    def _plan_changes(self) -> None:
        for _ in range(self.character.workloads):
            self.world.at(STARTED_AT, partial(self._do, create_workload))
        self.world.at(STARTED_AT + 2 * SECOND, self._raise_stakes)
        for _ in range(self.character.changes):
            at = STARTED_AT + self.draw.number(0, self.seconds * 1000) * MILLISECOND
            self.world.at(at, self._something_happens)
        self.world.at(STARTED_AT + RARELY_DELETED_AFTER_SECONDS * SECOND, self._delete_rare)
        self.world.at(STARTED_AT + self.seconds * SECOND, self._calm_down)

    def _delete_rare(self, now: int) -> None:
        """Something that few worlds have, and that would hardly ever be drawn to be deleted."""
        for rare in self.store.list(ReplicationController):
            self.store.delete(ReplicationController, rare.metadata.namespace, rare.metadata.name, now)

    def _observe(self, event: Event, now: int) -> None:
        self.taint_evictions += isinstance(event, ObjectRemoved) and _left_a_tainted_device(event.old)
        if self.taint_evictions > TAINT_EVICTIONS_MAX:
            raise GoesInCircles
        if self.checker is not None:
            self.checker.observe(event, now)
        if self._on_event is not None:
            self._on_event(event, now)

    def _decided(self, decision: Decision, now: int) -> None:
        self.preemptions += bool(decision.victims)
        if self.preemptions > PREEMPTIONS_MAX:
            raise GoesInCircles
        if decision.outcome is Outcome.ASSUMED and self.draw.chance(0.1):
            soon = now + self.draw.number(0, 8) * MILLISECOND
            self.world.at(soon, partial(self._label_on_its_way, decision.pod))
        if self._on_decision is not None:
            self._on_decision(decision, now)

    def _faults(self) -> FaultRates:
        if not self.character.has_faults:
            return FaultRates()

        def share() -> float:
            return self.draw.any_of((0.0, 0.05, 0.2))

        until = STARTED_AT + self.seconds * SECOND * 2 // 3
        return FaultRates(share(), share(), share(), share() / 4, share(), until)

    def command(self, command: Command, now: int) -> None:
        """As a simulation does it: at once, and a refusal is only noted."""
        self._commands.plan(PlannedCommand(now - STARTED_AT, command))

    def _something_happens(self, now: int) -> None:
        self._do(draw_change(self.draw, self.character.emphasis), now)

    def _label_on_its_way(self, key: str, now: int) -> None:
        """As operators do that hear of a pod when the scheduler does: it may have its node by now, or not yet."""
        pod = self.store.find(Pod, *key.split("/"))
        if pod is not None:
            with suppress(ApiError):
                label(self, pod, now)

    def _raise_stakes(self, now: int) -> None:
        """The first pods have found their nodes: here come those that want them more."""
        self.character.priorities = ("", *PRIORITIES)

    def _calm_down(self, now: int) -> None:
        """From here on nobody begins anything: what should come to rest can."""
        self.command(Cordon(tuple(node.metadata.name for node in self.store.list(Node)), unschedulable=False), now)
        for cron_job in self.store.list(CronJob):
            meta, spec = cron_job.metadata, replace(cron_job.spec, suspend=True)
            self.store.modify(CronJob, meta.namespace, meta.name, partial(replace, spec=spec), now)
        while let_go(self, now):
            pass
        for resource_slice in self.store.list(ResourceSlice):
            # A device that never gets ready is tried again and again.
            meta = replace(resource_slice.metadata, annotations={})
            self.store.modify(ResourceSlice, "", meta.name, partial(replace, metadata=meta), now)

    def _do(self, change: Change, now: int) -> None:
        try:
            happened = change(self, now)
        except ApiError:
            return  # users too are refused now and then
        if happened:
            self.draw.note("change", change)


def _left_a_tainted_device(gone: Object) -> bool:
    condition = find_condition(gone.status.conditions, DISRUPTION_TARGET) if isinstance(gone, Pod) else None
    return condition is not None and condition.reason == DELETED_BY_TAINT
