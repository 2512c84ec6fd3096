"""Random worlds whose nodes come and go by need: what must hold of every pool, budget and pod, whatever happens.

A world is drawn from its seed: pools, workloads, budgets, pods that may not be moved, and a user who scales. In some
worlds nodes also fail and recover, users delete and cordon them and change pools, and what the scheduler asks for is
refused or lost. A checker watches every write; it shares nothing with the autoscaler but the objects.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import ClassVar

import pytest
from tests.support.checkers import check_cache_accounts, check_not_overcommitted, check_quiet
from tests.support.node_pools import autoscaler, pool

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.command_runner import CommandRunner, PlannedCommands
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    NodesFail,
    NodesRecover,
    PlannedCommand,
)
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.autoscaling.autoscaler import AutoscalerController
from bayplan.controllers.standard import standard_controllers
from bayplan.model.conditions import find_condition, is_ready
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.node_pools import POOL_LABEL, NodePool
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.quantity import parse_quantity
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.watch_types import DELETED
from bayplan.model.workloads import Deployment
from bayplan.store import Store, WatchEvent
from bayplan.testing.builders import budget, deployment, pod, priority_class
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.faults import NO_FAULTS, FaultRates
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
FAULTS = FaultRates(0.1, 0.05, 0.05, watch_gap=0.02, slow_watch=0.05, until=STARTED_AT + 60 * MINUTE)
STUBBORN = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
MODES = ("cluster-autoscaler", "karpenter")


class Checker:
    """A controller that only watches."""

    name: ClassVar[str] = "checker"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    def __init__(self, pools: list[NodePool], least: dict[str, int]) -> None:
        """`least`: how many pods of a workload have to be ready after an eviction."""
        self._pools = {each.metadata.name: each for each in pools}
        self._least = least
        self._pods: dict[str, Pod] = {}
        self.nodes: dict[str, str] = {}
        self.deleted_by_users: set[str] = set()
        self.removed = self.evicted = 0

    def observe(self, change: WatchEvent, now: int) -> None:
        obj, is_gone = change.new, change.type == DELETED
        if isinstance(obj, Node):
            self._node_changed(obj, is_gone=is_gone)
        elif isinstance(obj, Pod):
            self._pod_changed(obj, is_gone=is_gone)

    def change(self, pool: NodePool) -> None:
        self._pools[pool.metadata.name] = pool

    def _node_changed(self, node: Node, *, is_gone: bool) -> None:
        name, pool_name = node.metadata.name, node.metadata.labels[POOL_LABEL]
        if is_gone:
            del self.nodes[name]
            self.removed += 1
            for each in self._pods.values() if name not in self.deleted_by_users else ():
                is_there = each.spec.node_name == name and each.status.phase not in FINISHED_PHASES
                assert not is_there, f"{name} was removed under {object_key(each)}"
        else:
            self.nodes[name] = pool_name
        size, spec = list(self.nodes.values()).count(pool_name), self._pools[pool_name].spec
        assert spec.max is not None
        assert size <= spec.max, f"pool {pool_name} has {size} nodes"

    def _pod_changed(self, new: Pod, *, is_gone: bool) -> None:
        key = object_key(new)
        old = self._pods.pop(key, None)
        if not is_gone:
            self._pods[key] = new
        if old is not None and is_evicted(new) and not is_evicted(old):
            self.evicted += 1
            assert not STUBBORN.items() <= new.metadata.annotations.items(), f"{key} may not be evicted"
            app = new.metadata.labels.get("app", "")
            if is_ready(old) and app in self._least:
                ready = sum(self._counts(each, app) for each in self._pods.values())
                assert ready >= self._least[app], f"only {ready} pods of {app} are left"

    @staticmethod
    def _counts(each: Pod, app: str) -> bool:
        is_one = each.metadata.labels.get("app") == app and each.metadata.deletion_timestamp is None
        return is_one and is_ready(each) and not is_evicted(each)

    def reconcile(self, store: Store, now: int) -> None:
        pass

    def wake_at(self) -> int | None:
        return None


def is_evicted(each: Pod) -> bool:
    said = find_condition(each.status.conditions, "DisruptionTarget")
    return said is not None and said.reason == "EvictionByEvictionAPI"


class World:
    def __init__(self, mode: str, seed: int, *, is_troubled: bool = False) -> None:
        self.random = Random(seed)
        self._is_troubled = is_troubled
        self.pools = [self._pool(name) for name in ("a", "b", "c")[: self.random.randint(1, 3)]]
        self.apps = [f"app{number}" for number in range(self.random.randint(1, 5))]
        least = {app: self.random.randint(0, 3) for app in self.apps if self.random.random() < 0.5}
        self.checker = Checker(self.pools, least)
        configuration = load_configuration(None, release=DEFAULT_RELEASE)
        draws = Draws(seed, Latencies())
        profiles = build_profiles(configuration)
        self.autoscaler = AutoscalerController(profiles, draws.around, Random(seed), configuration.gates)
        self.store = Store()
        settings = autoscaler(
            mode=mode,
            expander=self.random.choice(["least-waste", "price", "random", "most-pods"]),
            unneeded_time=self.random.choice(["1m", "3m"]),
            delay_after_add=self.random.choice(["1m", "5m"]),
            disruption_budget=self.random.choice(["10%", "100%", "1"]),
        )
        self.store.load([settings, *self.pools, *self._objects(least)], STARTED_AT)
        self.scheduler = build_scheduler(configuration, started_at=STARTED_AT)
        standard = standard_controllers(draws, configuration.gates)
        self.world = SimulatedWorld(
            self.store,
            self.scheduler,
            [*standard, self.autoscaler, self.checker],
            draws,
            started_at=STARTED_AT,
            faults=FAULTS if is_troubled else NO_FAULTS,
        )
        self._commands = PlannedCommands(CommandRunner(self.world, standard.kubelet, standard.lifecycle), STARTED_AT)

    def _pool(self, name: str) -> NodePool:
        least = self.random.choice([0, 0, 1, 2])
        return pool(
            name,
            self.random.choice(["2", "4", "16"]),
            min=least,
            max=least + self.random.randint(1, 6),
            price=self.random.choice([0.1, 0.2, 0.9]),
            priority=self.random.choice([0, 0, 5]),
            start_time=self.random.choice(["10s", "60s"]),
            consolidate_after=self.random.choice(["0s", "30s"]),
        )

    def _objects(self, least: dict[str, int]) -> list[Object]:
        made: list[Object] = [priority_class("high", value=1000).manifest().obj()]
        for app in self.apps:
            pattern = pod(app).labels(app=app).cpu(self.random.choice(["100m", "500m", "1", "3"]))
            if self.random.random() < 0.3:
                pattern.annotations(STUBBORN)
            if self.random.random() < 0.3:
                pattern.priority(None, class_name="high")
            if self.random.random() < 0.2:
                pattern.pod_anti_affinity("kubernetes.io/hostname", {"app": app})
            replicas = self.random.randint(0, 8)
            built = deployment(app).replicas(replicas).selects(app=app).template(pattern)
            made.append(built.manifest().obj())
            if app in least:
                made.append(budget(app).selects(app=app).min_available(least[app]).manifest().obj())
        return made

    def live(self) -> None:
        """An hour in which somebody scales, and twenty minutes in which nothing happens."""
        for _ in range(12):
            app, replicas = self.random.choice(self.apps), self.random.randint(0, 10)

            def scale(stored: Deployment, replicas: int = replicas) -> Deployment:
                return replace(stored, spec=replace(stored.spec, replicas=replicas))

            self.world.run_until(self.world.now + 5 * MINUTE)
            self.store.modify(Deployment, "default", app, scale, self.world.now)
            if self._is_troubled:
                self._trouble()
        self._command(NodesRecover(tuple(self.checker.nodes)))
        self._command(Cordon(tuple(self.checker.nodes), unschedulable=False))
        self.world.run_until(self.world.now + 20 * MINUTE)

    def _trouble(self) -> None:
        names = [name for name in self.checker.nodes if self.random.random() < 0.3]
        match self.random.choice(["fail", "recover", "delete", "cordon", "pool"]):
            case "fail":
                self._command(NodesFail(tuple(names)))
            case "recover":
                self._command(NodesRecover(tuple(self.checker.nodes)))
            case "delete":
                self.checker.deleted_by_users.update(names)
                self._command(DeleteObject(tuple(Reference("Node", "", name) for name in names)))
            case "cordon":
                self._command(Cordon(tuple(names), unschedulable=self.random.random() < 0.5))
            case _:
                self._change_pool()

    def _change_pool(self) -> None:
        """It may have more nodes, or other ones: those that are there stay as they are."""
        place = self.random.randrange(len(self.pools))
        old = self.pools[place]
        assert old.spec.max is not None
        spec = replace(old.spec, max=old.spec.max + self.random.randint(0, 2), price=self.random.choice([0.1, 0.5]))
        self.pools[place] = replace(old, spec=spec)
        self.checker.change(self.pools[place])
        self._command(Apply((self.pools[place],)))

    def _command(self, command: Command) -> None:
        self._commands.plan(PlannedCommand(self.world.now - STARTED_AT, command))

    def helpless(self) -> list[str]:
        """Pods that still wait although a pool with room has nodes large enough for them."""
        sizes = Counter(self.checker.nodes.values())
        room = [each for each in self.pools if sizes[each.metadata.name] < (each.spec.max or 0)]
        most = max((parse_quantity(each.spec.template.status.allocatable["cpu"]) for each in room), default=0)
        return [
            object_key(each)
            for each in self.store.list(Pod)
            if not each.spec.node_name
            and each.metadata.deletion_timestamp is None
            and parse_quantity(each.spec.containers[0].resources.requests["cpu"]) <= most
        ]


@pytest.mark.parametrize("is_troubled", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_what_must_hold_of_pools_holds(mode: str, seed: int, is_troubled: bool) -> None:
    world = World(mode, seed, is_troubled=is_troubled)
    world.live()
    assert world.helpless() == []
    check_not_overcommitted(world.store)
    check_cache_accounts(world.autoscaler.picture.cache)
    if not world.scheduler.pods_on_the_way():
        check_quiet(world.store, world.scheduler)
    for each in world.pools:
        size = list(world.checker.nodes.values()).count(each.metadata.name)
        assert size >= each.spec.min, f"pool {each.metadata.name} has {size} nodes in the end"


def test_random_worlds_remove_nodes_and_move_pods() -> None:
    """Otherwise the others would prove little."""
    for mode in MODES:
        seen = [World(mode, seed) for seed in range(3, 8)]
        for world in seen:
            world.live()
        assert sum(world.checker.removed for world in seen) > 5
        assert sum(world.checker.evicted for world in seen) > 0


def test_the_same_seed_gives_the_same_life() -> None:
    def nodes(seed: int) -> list[str]:
        world = World("cluster-autoscaler", seed)
        world.live()
        return sorted(f"{node.metadata.name} {node.metadata.creation_timestamp}" for node in world.store.list(Node))

    assert nodes(3) == nodes(3)
