"""All metrics of the process, and the page that shows them.

`Metrics` is made first: its `instruments` go into the scheduler, which `watch` is then given; what it returns looks on
as an observer of the live world. `render` gives the page, on the same thread, so that the numbers belong together.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest

from bayplan.client.contract import ApiClient
from bayplan.client.leases import LeaderElector
from bayplan.config.releases import KubernetesRelease, release_of
from bayplan.core.scheduler import Scheduler
from bayplan.serving.metrics.attempts import Attempts
from bayplan.serving.metrics.event_labels import EventNames
from bayplan.serving.metrics.group_attempts import GroupAttempts
from bayplan.serving.metrics.group_timings import GroupTimings
from bayplan.serving.metrics.live_state import bugs, claim_creates, leadership, shadow_findings, state_of_world, writes
from bayplan.serving.metrics.measuring import MeasuredScheduler
from bayplan.serving.metrics.plugin_timings import PluginTimings
from bayplan.serving.metrics.rest_client import MeteredClient, RequestTallies
from bayplan.serving.metrics.scheduler_state import state_of
from bayplan.serving.metrics.stopwatch import Stopwatch
from bayplan.serving.metrics.tallies import Tally, page
from bayplan.serving.metrics.timed_plugins import TimingInstruments
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.live import LiveWorld
from bayplan.worlds.live_observers import LiveObserver
from bayplan.worlds.shadow_findings import Findings


class Metrics:
    """One for each process."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns, disabled: Collection[str] = ()) -> None:
        """What is `disabled` is counted all the same, and not shown."""
        self._clock = clock
        self._disabled = frozenset(disabled)
        self.timings = PluginTimings()
        self.stopwatch = Stopwatch(clock, self.timings)
        self._groups = GroupTimings(clock)
        self.instruments = TimingInstruments(self.stopwatch, self._groups)
        self._requests = RequestTallies()
        self.tallies: dict[str, Tally] = {}
        self.add(*self.timings.tallies(self.stopwatch), *self._requests.tallies())
        self._process = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._process)
        PlatformCollector(registry=self._process)
        GCCollector(registry=self._process)

    def watch(self, scheduler: Scheduler) -> LiveObserver:
        """The observer of this scheduler."""
        release = release_of(scheduler.cache.gates)
        self.timings.scheduler_names = scheduler.profiles.keys()
        self.timings.event_names = EventNames(release)
        attempts = Attempts(scheduler, self.stopwatch, self.timings, self._groups)
        self.add(*attempts.tallies(), *state_of(scheduler, release))
        return attempts

    def watch_groups(self) -> GroupAttempts:
        """What is told of attempts on pod groups."""
        attempts = GroupAttempts()
        self.add(*attempts.tallies(), *self._groups.tallies())
        return attempts

    def measured(self, scheduler: DecidingScheduler) -> DecidingScheduler:
        """The scheduler as a world is to drive it, which has the instruments."""
        return MeasuredScheduler(scheduler, self.stopwatch)

    def metered(self, client: ApiClient, host: str) -> ApiClient:
        """The client, with its requests counted."""
        return MeteredClient(client, host, self._requests, self._clock)

    def show_world(self, world: LiveWorld) -> None:
        self.add(*state_of_world(world))

    def show_writes(self, outcomes: Counter[tuple[str, ...]]) -> None:
        """What the writer counts."""
        self.add(writes(outcomes))

    def show_creations(self, created: Mapping[tuple[str, bool], int], release: KubernetesRelease) -> None:
        """What the writer created, or was refused."""
        self.add(claim_creates(created, release))

    def show_bugs(self, counts: Counter[tuple[str, ...]]) -> None:
        """Unexpected exceptions that were survived."""
        self.add(bugs(counts))

    def show_leader(self, elector: LeaderElector, lease: str) -> None:
        """Whether this process holds the Lease of that name."""
        self.add(leadership(elector, lease))

    def show_shadow(self, findings: Findings) -> None:
        """How decisions compare with those of another scheduler."""
        self.add(*shadow_findings(findings))

    def render(self) -> bytes:
        """The page."""
        shown = [tally for name, tally in self.tallies.items() if name not in self._disabled]
        return page(shown).encode() + generate_latest(self._process)

    def add(self, *tallies: Tally) -> None:
        """More of them, whose families have names of their own; what upstream does not have, from `own_family`."""
        for tally in tallies:
            if tally.family.name in self.tallies:
                raise ValueError(f"{tally.family.name} is there already")
            self.tallies[tally.family.name] = tally
