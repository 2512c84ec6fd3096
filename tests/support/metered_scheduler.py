"""A scheduler with metrics, driven by hand: events in, decisions out, answers at once, on clocks that tests set.

`Watched` is what the live world is to metrics, and nothing more: it calls the observers as that does. `samples` reads
a page as Prometheus would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import release_named
from bayplan.core.actions import Action, Bind, Evict
from bayplan.core.decision import Decision
from bayplan.core.events import BindAnswered, Event, EvictAnswered, ObjectAdded
from bayplan.core.framework.profile import Profile
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.serving.metrics.registry import Metrics
from bayplan.worlds.live_observers import Observers
from bayplan.worlds.shadow_findings import Agreement, Findings

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND
FINDINGS = Findings(decisions=9, placements=Counter({Agreement.SAME: 6, Agreement.DIFFERENT: 1}))
#: What the stopwatch's clock goes on by with each look at it.
TICK = 1_000


class Watched:
    """`change` is made to the default profile."""

    def __init__(
        self,
        *objects: Object,
        change: Callable[[Profile], Profile] = lambda profile: profile,
        safety: PreemptionSafety = UPSTREAM,
        kubernetes_version: str = "1.37",
        gates: str = "",
    ) -> None:
        self._ticks = 0
        self.metrics = Metrics(self._tick)
        release = release_named(kubernetes_version)
        configuration = load_configuration(None, gates, release=release, with_groups=True)
        profiles = {name: change(profile) for name, profile in build_profiles(configuration).items()}
        of_groups = self.metrics.watch_groups() if gates else None
        self.scheduler = Scheduler(
            profiles,
            queue_order(profiles),
            started_at=0,
            instruments=self.metrics.instruments,
            safety=safety,
            gates=configuration.gates,
            on_group_attempt=None if of_groups is None else of_groups.tried,
        )
        self._driven = self.metrics.measured(self.scheduler)
        watching = self.metrics.watch(self.scheduler)
        self.observer = Observers([watching] if of_groups is None else [watching, of_groups])
        self.now = SECOND
        for obj in objects:
            self.see(ObjectAdded(obj))

    def _tick(self) -> int:
        self._ticks += TICK
        return self._ticks

    def see(self, event: Event) -> None:
        self._driven.observe(event, self.now)
        self.observer.observed(event, self.now)

    def decide(self, took_ns: int = MILLISECOND) -> Decision | None:
        decision = self._driven.decide(self.now)
        if decision is not None:
            self.observer.decided(decision, self.now, took_ns)
        return decision

    def wrote(self, action: Action, error: str = "", took_ns: int = 5 * MILLISECOND) -> None:
        """The action was performed, and takes that long; Bind and Evict are answered."""
        self.now += took_ns
        self.observer.wrote(action, took_ns, error)
        if isinstance(action, Bind):
            self.see(BindAnswered(action.pod, action.uid, error))
        elif isinstance(action, Evict):
            self.see(EvictAnswered(action.pod, action.uid, error))

    def run(self) -> None:
        """Decide and write until there is nothing more to do."""
        while (decision := self.decide()) is not None:
            for action in decision.actions:
                self.wrote(action)

    def samples(self, name: str) -> dict[tuple[str, ...], float]:
        return samples(self.metrics.render(), name)


class World:
    """Of a live world what is asked of it."""

    unanswered = 7
    is_synced = False

    def troubles(self) -> dict[str, str]:
        return {"Pod": "", "Node": "missing permission"}


class Elector:
    """Of an elector what is asked of it."""

    leads = False

    def is_leading(self) -> bool:
        return self.leads


def shown_parts(metrics: Metrics, elector: Elector | None = None) -> Metrics:
    """With the parts of a running process, and a shadow besides."""
    world: Any = World()
    election: Any = elector
    metrics.show_world(world)
    metrics.show_writes(Counter({("Bind", "written"): 5, ("Emit", "dropped"): 2}))
    metrics.show_bugs(Counter({("attempt",): 3}))
    metrics.show_shadow(FINDINGS)
    if elector is not None:
        metrics.show_leader(election, "kube-scheduler")
    return metrics


def samples(page: bytes, name: str) -> dict[tuple[str, ...], float]:
    """The numbers of the series of that name by their label values, in the order of the labels on the page."""
    found = (sample for family in families(page) for sample in family.samples)
    return {tuple(sample.labels.values()): sample.value for sample in found if sample.name == name}


def families(page: bytes) -> Iterable[Metric]:
    return text_string_to_metric_families(page.decode())
