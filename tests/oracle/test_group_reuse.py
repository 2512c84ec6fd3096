"""Groups placed with what is known of pods of their kinds, against groups placed as if each were the first.

One decider serves many attempts on one cache, in and out of trials that are undone, while nodes and pods come and go.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.support.caches import content_of

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import PodGroup
from bayplan.model.node import Node
from bayplan.testing.builders import node, pod, pod_group
from bayplan.testing.pods import PodBuilder

SEEDS = range(300)
_TEMPLATES = ("plain", "spread", "apart", "selecting", "big", "port")


def configured(random: Random) -> str:
    return "GenericWorkload=true" + random.choice(["", ",TopologyAwareWorkloadScheduling=true"])


def random_node(random: Random, number: int) -> Node:
    made = node(f"n{number}").capacity(cpu=str(random.randint(1, 8)), memory="16Gi", pods=random.randint(1, 8))
    made.labels(
        {"kubernetes.io/hostname": f"n{number}"}, rack=f"r{random.randrange(3)}", disk=random.choice(["ssd", "hdd"])
    )
    return (made.taint("dedicated") if random.random() < 0.15 else made).obj()


def random_member(random: Random, group: str, number: int, template: str) -> PodBuilder:
    made = pod(f"{group}-{number}").cpu(random.choice(["500m", "1"])).priority(5).in_group(group).labels(app=group)
    match template:
        case "spread":
            made.spread("rack", f"app={group}")
        case "apart":
            made.pod_anti_affinity("kubernetes.io/hostname", f"app={group}")
        case "selecting":
            made.node_selector(disk="ssd")
        case "big":
            made.cpu("3")
        case "port":
            made.port(80)
    return made


def seen(attempt: GroupAttempt) -> object:
    told = [(each.node, each.reason, each.message, each.nominated, each.rejectors) for each in attempt.outcomes]
    preemption = attempt.preemption
    return (
        told,
        attempt.root,
        attempt.condition,
        attempt.found.chosen if attempt.found is not None else None,
        preemption and (preemption.status, preemption.victims, preemption.proposed, preemption.violations),
    )


def random_group(random: Random, cache: Cache, name: str) -> tuple[PodGroup, list[Member]]:
    size, template = random.randint(1, 6), random.choice(_TEMPLATES)
    made = pod_group(name).gang(random.randint(1, size)).priority(5)
    if random.random() < 0.3:
        made.within("rack")
    pods = [random_member(random, name, number, template).obj() for number in range(size)]
    return made.obj(), [Member(each, cache.info(each), queued_at=at) for at, each in enumerate(pods)]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_known_of_other_pods_changes_nothing(seed: int) -> None:
    random = Random(seed)
    release = RELEASES["1.37"]
    configuration = load_configuration(None, configured(random), release=release, with_groups=True)
    profiles, cache = build_profiles(configuration), Cache(configuration.gates)
    decider = Decider(profiles)
    for number in range(random.randint(2, 10)):
        cache.add(random_node(random, number))
    for turn in range(6):
        group, members = random_group(random, cache, f"g{turn}")
        before = content_of(cache)
        alone = attempt_group(cache, profiles, group, members)
        reusing = attempt_group(cache, profiles, group, members, decider=decider, in_full=False)
        assert content_of(cache) == before
        assert seen(reusing) == seen(alone)
        for outcome in alone.outcomes:
            if outcome.node:
                cache.add_pod(outcome.member.pod, outcome.node, outcome.member.info)
        _something_happens(random, cache, turn)


def _something_happens(random: Random, cache: Cache, turn: int) -> None:
    happening = random.randrange(4)
    if happening == 0:
        cache.add(random_node(random, random.randrange(12)))
    elif happening == 1 and cache.nodes.rows_by_name:
        name = random.choice(sorted(cache.nodes.rows_by_name))
        if cache.nodes.alive[cache.nodes.rows_by_name[name]]:
            priority = random.choice([-1, 9])
            cache.add(pod(f"other{turn}").cpu(f"{random.randint(1, 4)}").priority(priority).node(name).obj())
    elif happening == 2:
        standing = sorted(key for key in cache.pods.rows_by_key)
        if standing:
            cache.remove_pod(random.choice(standing))
