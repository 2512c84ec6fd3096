"""Counting how many members fit in each topology domain against placing them there one by one."""

from __future__ import annotations

from random import Random

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.counting import room_for
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import PodGroup
from bayplan.testing.builders import node, pod, pod_group
from bayplan.testing.pods import PodBuilder

ON = load_configuration(
    None, "GenericWorkload=true,TopologyAwareWorkloadScheduling=true", release=RELEASES["1.37"], with_groups=True
)
PROFILES = build_profiles(ON)
SEEDS = range(200)


def random_world(random: Random) -> tuple[Cache, PodGroup, list[Member]]:
    """Racks of unlike nodes, some of them tainted or nearly full, and a group whose members are mostly alike."""
    cache = Cache(ON.gates)
    for number in range(random.randint(2, 12)):
        made = node(f"n{number}").capacity(cpu=str(random.randint(1, 8)), memory="16Gi", pods=random.randint(1, 6))
        made.labels(rack=f"r{random.randrange(4)}")
        if random.random() < 0.2:
            made.taint("dedicated", "NoSchedule")
        cache.add(made.obj())
        if random.random() < 0.5:
            priority = random.choice([-1, 0, 9])
            cache.add(
                pod(f"old{number}").cpu(f"{random.randint(1, 8) * 500}m").priority(priority).node(f"n{number}").obj()
            )
    size = random.randint(2, 6)
    group = pod_group("g").gang(random.randint(1, size)).within("rack").priority(5).obj()
    cpu = random.choice(["500m", "1", "2500m"])
    pods = [_member(random, number, cpu).obj() for number in range(size)]
    if random.random() < 0.2:
        cache.add(pod("there").cpu(cpu).priority(5).in_group("g").node(f"n{random.randrange(2)}").obj())
    return cache, group, [Member(each, cache.info(each), queued_at=at) for at, each in enumerate(pods)]


def _member(random: Random, number: int, cpu: str) -> PodBuilder:
    made = pod(f"p{number}").cpu(cpu if random.random() < 0.95 else "3").priority(5).in_group("g")
    return made.port(80) if random.random() < 0.05 else made


def seen(attempt: GroupAttempt) -> object:
    """All that does not tell where members would go in placements that are not taken."""
    told = [(each.node, each.reason, each.message, each.nominated, each.rejectors) for each in attempt.outcomes]
    tried = attempt.found.placements if attempt.found is not None else None
    preemption = attempt.preemption
    return (
        told,
        attempt.root,
        attempt.condition,
        [(each.name, each.placed.status.ok, len(each.fitting), each.scores, each.total) for each in tried or ()],
        attempt.found.chosen if attempt.found is not None else None,
        preemption and (preemption.status, preemption.victims, preemption.proposed, preemption.violations),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_counted_comes_to_the_same_as_what_is_placed(seed: int) -> None:
    cache, group, members = random_world(Random(seed))
    whole = seen(attempt_group(cache, PROFILES, group, members, in_full=True))
    assert seen(attempt_group(cache, PROFILES, group, members, in_full=False)) == whole


def test_most_of_these_groups_are_counted() -> None:
    """Or the test above would compare placing with placing."""
    counted = 0
    for seed in SEEDS:
        cache, _, members = random_world(Random(seed))
        counted += room_for(PROFILES["default-scheduler"], members, cache.view()) is not None
    assert counted > len(SEEDS) // 2
    assert counted < len(SEEDS)
