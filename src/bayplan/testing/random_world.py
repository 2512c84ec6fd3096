"""A small cluster to which random things happen, all from one seed.

Workloads come, grow, shrink and go; nodes come, change, are cordoned and go; budgets and priorities make preemption
bite; the API refuses, forgets and stalls until two thirds of the time are over. A seed that fails is a bug report.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import TypeVar

from bayplan.config.loading import load_configuration
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.budgets.disruption_controller import Budgets
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.workloads.replica_set import ReplicaSetController
from bayplan.core.decision import Decision
from bayplan.core.events import Event
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.model.workloads import ReplicaSet
from bayplan.store import ApiError, Store
from bayplan.testing.builders import budget, node, pod, priority_class, replica_set
from bayplan.testing.pods import PodBuilder
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.faults import Faults
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
ZONES = ("a", "b", "c")
CLASSES = {"low": 10, "mid": 100, "high": 1_000}
APPS = ("web", "db", "batch")

Changed = TypeVar("Changed")


class RandomWorld:
    """One seed's worth of trouble."""

    def __init__(
        self,
        seed: int,
        *,
        seconds: int = 60,
        with_faults: bool = True,
        on_event: Callable[[Event, int], None] | None = None,
        on_decision: Callable[[Decision, int], None] | None = None,
    ) -> None:
        self.random = Random(seed)
        self.seconds = seconds
        self.store = Store()
        self._names = iter(range(1_000_000))
        self._furnish()
        self.scheduler = build_scheduler(load_configuration(None), started_at=STARTED_AT)
        draws = Draws(seed, Latencies())
        calm_from = STARTED_AT + seconds * SECOND * 2 // 3
        self.world = SimulatedWorld(
            self.store,
            self.scheduler,
            [ReplicaSetController(), Kubelet(draws), Budgets()],
            draws,
            started_at=STARTED_AT,
            faults=self._faults(calm_from) if with_faults else Faults(),
            on_event=on_event,
            on_decision=on_decision,
        )
        for _ in range(self.random.randint(20, 60)):
            at = STARTED_AT + self.random.randrange(seconds * 1000) * MILLISECOND
            self.world.at(at, self._something_happens)

    def _furnish(self) -> None:
        for name, value in CLASSES.items():
            self.store.create(priority_class(name, value=value).manifest().obj(), STARTED_AT)
        for _ in range(self.random.randint(2, 6)):
            self._add_node(STARTED_AT)
        for app in APPS:
            if self.random.random() < 0.5:
                wanted = budget(f"pdb-{app}").selects(app=app).min_available(self.random.randint(1, 3))
                self.store.create(wanted.manifest().obj(), STARTED_AT)

    def _faults(self, until: int) -> Faults:
        def share() -> float:
            return self.random.choice((0.0, 0.05, 0.2))

        return Faults(share(), share(), share(), share() / 4, share(), until)

    def _something_happens(self, now: int) -> None:
        things = (
            (self._add_pod, 8),
            (self._add_workload, 3),
            (self._scale, 3),
            (self._delete_pod, 4),
            (self._delete_workload, 1),
            (self._add_node, 1),
            (self._cordon, 1),
            (self._label, 1),
            (self._taint, 1),
        )
        cluster_event = self.random.choices([one for one, _ in things], [weight for _, weight in things])[0]
        try:
            cluster_event(now)
        except ApiError:
            return  # users too are refused now and then

    def _add_node(self, now: int) -> None:
        name = f"node-{next(self._names)}"
        cpu = self.random.choice(("2", "4", "8"))
        made = node(name).capacity(cpu=cpu, memory="16Gi", pods=self.random.choice((5, 20)))
        made = made.label("kubernetes.io/hostname", name).zone(self.random.choice(ZONES))
        self.store.create(made.manifest().obj(), now)

    def _pattern(self, name: str) -> PodBuilder:
        draw = self.random
        app = draw.choice(APPS)
        made = pod(name).cpu(draw.choice(("500m", "1", "2", "3"))).labels(app=app)
        made = made.priority(None, class_name=draw.choice(("", *CLASSES)))
        kind = draw.random()
        if kind < 0.15:
            made = made.spread("topology.kubernetes.io/zone", {"app": app})
        elif kind < 0.25:
            made = made.port(8080)
        return made

    def _add_pod(self, now: int) -> None:
        made = self._pattern(f"pod-{next(self._names)}")
        if self.random.random() < 0.5:
            made = made.annotations({"bayplan/run-seconds": str(self.random.randint(2, 20))})
        self.store.create(made.manifest().obj(), now)

    def _add_workload(self, now: int) -> None:
        name = f"rs-{next(self._names)}"
        pattern = self._pattern("ignored").labels(workload=name)
        if self.random.random() < 0.3:
            # Against its own kind only: pods that keep others away for as long as they are merely nominated are not
            # counted where no running pod does so (upstream skips the plugin), and evicting and recreating never ends.
            pattern = pattern.pod_anti_affinity("kubernetes.io/hostname", {"workload": name})
        made = replica_set(name).replicas(self.random.randint(1, 5)).selects(workload=name).template(pattern)
        self.store.create(made.manifest().obj(), now)

    def _scale(self, now: int) -> None:
        sets = self.store.list(ReplicaSet)
        if sets:
            chosen, replicas = self.random.choice(sets).metadata, self.random.randint(0, 6)

            def change(one: ReplicaSet) -> ReplicaSet:
                one.spec.replicas = replicas
                return one

            self.store.modify(ReplicaSet, chosen.namespace, chosen.name, _on_copy(change), now)

    def _delete_pod(self, now: int) -> None:
        pods = self.store.list(Pod)
        if pods:
            meta = self.random.choice(pods).metadata
            self.store.delete(Pod, meta.namespace, meta.name, now, grace_seconds=self.random.choice((None, 0, 2)))

    def _delete_workload(self, now: int) -> None:
        sets = self.store.list(ReplicaSet)
        if sets:
            meta = self.random.choice(sets).metadata
            self.store.delete(ReplicaSet, meta.namespace, meta.name, now)

    def _change_node(self, now: int, change: Callable[[Node], Node]) -> None:
        chosen = self.random.choice(self.store.list(Node)).metadata.name
        self.store.modify(Node, "", chosen, _on_copy(change), now)

    def _cordon(self, now: int) -> None:
        def change(one: Node) -> Node:
            one.spec.unschedulable = not one.spec.unschedulable
            return one

        self._change_node(now, change)

    def _label(self, now: int) -> None:
        zone = self.random.choice(ZONES)

        def change(one: Node) -> Node:
            one.metadata.labels["topology.kubernetes.io/zone"] = zone
            return one

        self._change_node(now, change)

    def _taint(self, now: int) -> None:
        effect = self.random.choice(("NoSchedule", "PreferNoSchedule"))
        tainted = node("ignored").taint("odd", effect=effect).obj().spec.taints

        def change(one: Node) -> Node:
            one.spec.taints = [] if one.spec.taints else tainted
            return one

        self._change_node(now, change)


def _on_copy(change: Callable[[Changed], Changed]) -> Callable[[Changed], Changed]:
    """Stored objects must not be touched: the change is made to a deep copy."""
    return lambda stored: change(deepcopy(stored))
