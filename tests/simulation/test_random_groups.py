"""Random worlds of pod groups, with a watch that lags and breaks and with requests that fail.

What must hold: the cache is what the store says, no gang has fewer pods on nodes than its quorum unless a request
failed, and once nothing goes wrong any more all that fits is bound.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.support.checkers import check_always, check_quiet

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import RELEASES
from bayplan.controllers.standard import standard_controllers
from bayplan.core.decision import Decision, Outcome
from bayplan.core.scheduler import Scheduler
from bayplan.model.cluster import PriorityClass
from bayplan.model.groups import (
    DisruptionMode,
    EmptyPart,
    GangPolicy,
    GroupSchedulingPolicy,
    PodGroup,
    PodGroupSpec,
)
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.time_units import SECOND
from bayplan.store import Store
from bayplan.testing import builders as make
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.faults import FaultRates
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
CONFIGURATION = load_configuration(None, {"GenericWorkload": True}, release=RELEASES["1.37"], with_groups=True)
PRIORITIES = {"low": 0, "high": 100}
FAULTS_SECONDS, ALL_SECONDS = 60, 240


def group_named(name: str, min_count: int, priority: str, *, whole: bool) -> PodGroup:
    policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=min_count))
    mode = DisruptionMode(all=EmptyPart()) if whole else None
    spec = PodGroupSpec(scheduling_policy=policy, priority_class_name=priority, disruption_mode=mode)
    return PodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


class GroupWorld:
    """A few nodes, and groups and pods that come in the first minute."""

    def __init__(self, seed: int, faults: FaultRates, *, priorities: tuple[str, ...]) -> None:
        self.random = Random(seed)
        self.min_counts: dict[str, int] = {}
        store = self.store = Store()
        for name, value in PRIORITIES.items():
            store.create(PriorityClass(metadata=ObjectMeta(name=name), value=value), STARTED_AT)
        for number in range(self.random.randint(2, 4)):
            store.create(make.node(f"n{number}").capacity(cpu="4", memory="16Gi").manifest().obj(), STARTED_AT)
        draws = Draws(seed, Latencies())
        profiles = build_profiles(CONFIGURATION)
        self.scheduler = Scheduler(profiles, queue_order(profiles), started_at=STARTED_AT, gates=CONFIGURATION.gates)
        controllers = [*standard_controllers(draws, CONFIGURATION.gates)]
        self.commits = 0
        self.world = SimulatedWorld(
            store,
            self.scheduler,
            controllers,
            draws,
            started_at=STARTED_AT,
            faults=faults,
            on_decision=self._decided,
        )
        for number in range(self.random.randint(3, 6)):
            self._plan_group(f"g{number}", self.random.choice(priorities))

    def _plan_group(self, name: str, priority: str) -> None:
        random, size = self.random, self.random.randint(1, 4)
        self.min_counts[name] = random.randint(1, size)
        group = group_named(name, self.min_counts[name], priority, whole=random.random() < 0.5)
        cpu = random.choice(("500m", "1", "1500m"))
        things: list[Pod | PodGroup] = [group]
        for number in range(size):
            pod = make.pod(f"{name}-{number}").cpu(cpu).priority_class(priority).grace(2).manifest().obj()
            pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name=name)
            things.append(pod)
        random.shuffle(things)
        begins = random.randint(0, 20)
        for thing in things:
            begins += random.randint(0, 3)
            self.world.at(STARTED_AT + begins * SECOND, lambda now, thing=thing: self.store.create(thing, now))  # type: ignore[misc]

    def _decided(self, decision: Decision, now: int) -> None:
        """Members go on their way only together with enough others, whatever fails later."""
        if any(each.outcome is Outcome.ASSUMED for each in decision.members):
            self.commits += 1
            taken = len(self.scheduler.cache.pods.scheduled_members(decision.group))
            assert taken >= self.min_counts[decision.group.partition("/")[2]], decision.group

    def on_nodes(self, group: str) -> int:
        return sum(
            bool(pod.spec.node_name) for pod in self.store.list(Pod) if pod.metadata.name.startswith(f"{group}-")
        )

    def run_to(self, second: int) -> None:
        self.world.run_until(STARTED_AT + second * SECOND)
        check_always(self.scheduler)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_of_a_gang_is_bound_unless_its_quorum_is(seed: int) -> None:
    faults = FaultRates(watch_gap=0.05, slow_watch=0.1, until=STARTED_AT + FAULTS_SECONDS * SECOND)
    groups = GroupWorld(seed, faults, priorities=("low",))
    rests = 0
    for second in range(5, ALL_SECONDS, 5):
        groups.run_to(second)
        if groups.world.is_at_rest:
            rests += 1
            bound = {name: groups.on_nodes(name) for name in groups.min_counts}
            assert all(not count or count >= groups.min_counts[name] for name, count in bound.items()), bound
    assert rests
    assert groups.commits
    check_quiet(groups.store, groups.scheduler)


@pytest.mark.parametrize("seed", range(20))
def test_worlds_with_preemption_and_failing_requests_heal(seed: int) -> None:
    until = STARTED_AT + FAULTS_SECONDS * SECOND
    faults = FaultRates(refused=0.1, lost_request=0.05, lost_answer=0.05, watch_gap=0.05, slow_watch=0.1, until=until)
    groups = GroupWorld(seed, faults, priorities=("low", "high"))
    for second in range(5, 2 * ALL_SECONDS, 5):
        groups.run_to(second)
    if groups.world.is_at_rest and not groups.scheduler.pods_on_the_way():
        check_quiet(groups.store, groups.scheduler)
    assert any(groups.on_nodes(name) for name in groups.min_counts)
