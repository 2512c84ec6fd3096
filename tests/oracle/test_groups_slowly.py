"""Groups decided on by the scheduler, against groups put down and taken back on plain objects.

In worlds in which groups come one after another: those that fit stay, victims go, and so the next one finds what the
last one left. Now and then members that were left over are tried again, perhaps after others of their group have been
evicted. Whatever happens, nothing is bound unless enough of a group is.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.oracle.groups_slowly import Slowly, try_group

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import PodGroup
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.testing.builders import budget, node, pod, pod_group

QUICK = 40
SEEDS = [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(300)]
TURNS, RETRIED = 9, 0.3
#: No node is better than another, and of racks the one that takes the most pods.
_NONE = [{"name": "*"}]
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "score": {"disabled": _NONE},
                "placementScore": {"disabled": _NONE, "enabled": [{"name": "PodGroupPodsCount"}]},
            }
        }
    ],
}
GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
CONFIGURATION = load_configuration(CONFIG, GATES, release=RELEASES["1.37"], with_groups=True)
PROFILES = build_profiles(CONFIGURATION)


def random_node(random: Random, number: int) -> Node:
    made = node(f"n{number}").capacity(cpu=str(random.randint(1, 6)), memory="64Gi", pods=random.randint(1, 6))
    made.labels({"kubernetes.io/hostname": f"n{number}"}, disk=random.choice(["ssd", "hdd"]))
    if random.random() < 0.9:
        made.labels(rack=f"r{random.randrange(3)}")
    return (made.taint("dedicated") if random.random() < 0.1 else made).obj()


def random_pod(random: Random, name: str, group: str, template: str, priority: int) -> Pod:
    made = pod(name).cpu(random.choice(["250m", "500m", "1", "2"])).priority(priority)
    if group:
        made.in_group(group)
    labels = {"app": group or random.choice(["a", "b", "g3", "g5"])}
    match template:
        case "apart":
            labels["apart"] = "yes"
            made.pod_anti_affinity("kubernetes.io/hostname", f"app={labels['app']}")
        case "selecting":
            made.node_selector(disk="ssd")
        case "port":
            made.port(80)
    return made.labels(labels).obj()


def random_budget(random: Random, number: int) -> PodDisruptionBudget:
    made = budget(f"b{number}").selects(app=random.choice(["a", "b", "g0", "g1", "g2"]))
    return made.allows(random.randrange(3)).obj()


def random_group(random: Random, name: str) -> tuple[PodGroup, list[Pod]]:
    size, template = random.randint(1, 6), random.choice(["plain", "plain", "apart", "selecting", "port"])
    priority = random.choice([0, 5, 10, 20])
    made = pod_group(name).priority(priority)
    if random.random() < 0.8:
        made.gang(random.randint(1, size))
    if random.random() < 0.3:
        made.within("rack")
    if random.random() < 0.4:
        made.disrupted_as_a_whole()
    members = [random_pod(random, f"{name}-{number}", name, template, priority) for number in range(size)]
    return made.obj(), members


class World:
    """The same things as the scheduler keeps them and as plain objects."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cache = Cache(CONFIGURATION.gates)
        self.decider = Decider(PROFILES)
        self.plain = Slowly([], [], [], [])
        self.left: dict[str, list[Pod]] = {}  # members without a node, by group
        for number in range(self.random.randint(2, 9)):
            made = random_node(self.random, number)
            self.cache.add(made)
            self.plain.nodes.append(made)
        for number in range(self.random.randrange(3)):
            self.plain.budgets.append(random_budget(self.random, number))
            self.cache.add(self.plain.budgets[-1])
        for number in range(self.random.randrange(12)):
            self.put(random_pod(self.random, f"s{number}", "", "plain", self.random.choice([0, 5, 15])))

    def put(self, made: Pod, name: str = "") -> None:
        """A pod on that node, or on any."""
        name = name or self.random.choice(self.plain.nodes).metadata.name
        self.cache.add_pod(made, name)
        self.plain.standing.append((made, name))

    def take(self, key: str) -> None:
        self.cache.remove_pod(key)
        self.plain.standing = [each for each in self.plain.standing if f"default/{each[0].metadata.name}" != key]

    def try_group(self, group: PodGroup, members: list[Pod]) -> GroupAttempt:
        tried = [Member(each, self.cache.info(each), queued_at=at) for at, each in enumerate(members)]
        return attempt_group(self.cache, PROFILES, group, tried, decider=self.decider, in_full=False)

    def next_group(self, turn: int) -> tuple[PodGroup, list[Pod]]:
        """A new one, or one of which members are left."""
        if self.left and self.random.random() < RETRIED:
            name = self.random.choice(sorted(self.left))
            return next(group for group in self.plain.groups if group.metadata.name == name), self.left.pop(name)
        group, members = random_group(self.random, f"g{turn}")
        self.cache.add(group)
        self.plain.groups.append(group)
        return group, members


def on_nodes(world: World, group: PodGroup) -> int:
    return len(world.cache.pods.scheduled_members(f"default/{group.metadata.name}"))


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_get_what_they_get_on_plain_objects(seed: int) -> None:
    world = World(seed)
    for turn in range(TURNS):
        group, members = world.next_group(turn)
        expected, there = try_group(world.plain, group, members), on_nodes(world, group)
        attempt = world.try_group(group, members)
        bound = {each.member.key: each.node for each in attempt.bound}
        assert bound == expected.bound
        gang = group.spec.scheduling_policy.gang
        assert there + len(bound) >= (gang.min_count if gang is not None else 1) or not bound
        preemption = attempt.preemption
        assert ({} if preemption is None else preemption.proposed) == expected.proposed
        assert ([] if preemption is None else preemption.victims) == expected.victims
        assert (0 if preemption is None else preemption.violations) == expected.violations
        by_key = {f"default/{each.metadata.name}": each for each in members}
        for key in expected.victims:
            world.take(key)
        for key, name in (expected.bound | expected.proposed).items():
            world.put(by_key.pop(key), name)
        if by_key:
            world.left[group.metadata.name] = list(by_key.values())
