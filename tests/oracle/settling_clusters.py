"""What follows a change, worked out the slow way: a new `Cluster` for each round, of which `place` decides everything.

Keeps nothing but objects: who runs where (in each node's order), who waits. Budgets count all pods each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World, key_of, wanting_pods, worlds

from bayplan import Cluster
from bayplan.model.conditions import is_ready
from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import Condition, OwnerReference
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import compile_label_selector

OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="somebody", uid="somebody", controller=True)
READY = Condition(type="Ready", status="True")


def plain(thing: Object) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(thing)
    return {"apiVersion": KINDS[type(thing).__name__].api_version, **made, "kind": type(thing).__name__}


@st.composite
def settings_of(draw: st.DrawFn) -> tuple[World, list[Pod]]:
    """A cluster in which some pods have a controller and are ready, and pods that come into it."""
    world = draw(worlds())
    world.pods, world.departed, world.nominated = world.running(), [], []
    for one in world.pods:
        if draw(st.booleans()):
            one.metadata.owner_references = [OWNER]
        one.status.conditions = [READY] if draw(st.booleans()) else []
    for each in world.budgets:
        assert each.status is not None
        each.status.disrupted_pods = {}
    coming = draw(st.lists(wanting_pods(("cpu",)), min_size=1, max_size=4))
    for number, one in enumerate(coming):
        one.metadata.name = f"new{number}"
        one.metadata.uid = f"uid-new{number}"
        one.spec.priority = draw(st.sampled_from([100, 60, 20, 5]))
        if draw(st.booleans()):
            one.metadata.owner_references = [OWNER]
    return world, coming


class SlowCourse:
    """As a `Course`, by other means."""

    def __init__(self, world: World, waiting: Iterable[Pod] = ()) -> None:
        self.nodes = {one.metadata.name: one for one in world.nodes}
        self.others = world.others
        self.budgets = world.budgets
        self.waiting = [deepcopy(one) for one in waiting]
        self.on: defaultdict[str, list[Pod]] = defaultdict(list)
        for one in world.pods:
            self.on[one.spec.node_name].append(one)
        self.evicted: list[tuple[str, str]] = []  # pod, preemptor
        self.foreign_victims = "never" if world.own_schedulers is not None else None
        self._spare = {
            each.metadata.name: each.status.disruptions_allowed - self._ready_under(each)
            for each in self.budgets
            if each.status is not None
        }

    def pods(self) -> list[Pod]:
        return [one for pods in self.on.values() for one in pods]

    def where(self) -> dict[str, str]:
        return {key_of(one): one.spec.node_name for one in self.pods()}

    def settle(self) -> None:
        while self.round():
            pass

    def round(self) -> bool:
        placement = self.cluster().place(foreign_victims=self.foreign_victims)
        lost: list[Pod] = []
        for decision in placement.decisions:
            for victim in decision.victims:
                lost.append(self.take(victim))
                self.evicted.append((victim, decision.pod))
            if decision.node is not None:
                coming = next(one for one in self.waiting if key_of(one) == decision.pod)
                self.waiting.remove(coming)
                self.on[decision.node].append(_running(coming, decision.node))
        self.waiting += [again(one) for one in lost if returns(one)]
        return bool(lost)

    def cluster(self) -> Cluster:
        budgets = [self._counted(each) for each in self.budgets]
        things: Sequence[Object] = [*self.nodes.values(), *self.others, *budgets, *self.pods(), *self.waiting]
        return Cluster.from_objects([plain(thing) for thing in things])

    def take(self, key: str) -> Pod:
        """The pod leaves its node, where the last one takes its place."""
        pods = next(pods for pods in self.on.values() if key in map(key_of, pods))
        place = [key_of(one) for one in pods].index(key)
        last = pods.pop()
        if place == len(pods):
            return last
        taken, pods[place] = pods[place], last
        return taken

    def allowed(self, budget: PodDisruptionBudget) -> int:
        """How many more pods may go."""
        return self._spare[budget.metadata.name] + self._ready_under(budget)

    def _counted(self, budget: PodDisruptionBudget) -> PodDisruptionBudget:
        counted = deepcopy(budget)
        assert counted.status is not None
        counted.status.disruptions_allowed = max(0, self.allowed(budget))
        return counted

    def _ready_under(self, budget: PodDisruptionBudget) -> int:
        return sum(
            covers(budget, one) and is_ready(one) and one.metadata.deletion_timestamp is None for one in self.pods()
        )


def covers(budget: PodDisruptionBudget, one: Pod) -> bool:
    same_namespace = budget.metadata.namespace == one.metadata.namespace
    return same_namespace and compile_label_selector(budget.spec.selector).matches(one.metadata.labels)


def returns(one: Pod) -> bool:
    return bool(one.metadata.owner_references) and one.metadata.deletion_timestamp is None


def again(one: Pod) -> Pod:
    made = deepcopy(one)
    made.spec.node_name = ""
    made.metadata.uid = f"{one.metadata.name}-again"
    made.status = PodStatus(phase="Pending")
    return made


def cordoned(one: Node) -> Node:
    made = deepcopy(one)
    made.spec.unschedulable = True
    return made


def names_of(pods: Collection[Pod]) -> set[str]:
    return {key_of(one) for one in pods}


def _running(one: Pod, node: str) -> Pod:
    made = deepcopy(one)
    made.spec.node_name = node
    made.status = PodStatus(phase="Running", conditions=[READY])
    return made
