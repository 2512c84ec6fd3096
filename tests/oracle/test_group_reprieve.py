"""Units put back with a look at their own nodes alone, against units put back with a look at every member.

Groups of many kinds preempt pods and whole groups, some of them with ports, affinity or labels that concern members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from tests.oracle.test_group_reuse import random_group, random_node, seen

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.framework.profile import Profile
from bayplan.core.groups import preempting
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import GroupStage
from bayplan.model.groups import PodGroup
from bayplan.testing.builders import budget, pod, pod_group

SEEDS = range(100)


def full_cluster(random: Random, cache: Cache) -> None:
    """Nodes with pods of lower priority, some of which are units."""
    count = random.randint(2, 8)
    for number in range(count):
        cache.add(random_node(random, number))
    for name in ("v", "w"):
        group = pod_group(name).gang(1).priority(random.choice([0, 1]))
        cache.add((group.disrupted_as_a_whole() if random.random() < 0.7 else group).obj())
    cache.add(budget("guarded").selects(app="guarded").allows(random.randint(0, 1)).obj())
    for number in range(random.randint(2, 14)):
        made = pod(f"low-{number}").cpu(random.choice(["1", "2"])).priority(random.choice([0, 1]))
        made.labels(app=random.choice(["g0", "guarded", "x"]))
        if random.random() < 0.4:
            made.in_group(random.choice(["v", "w"]))
        if random.random() < 0.15:
            made.pod_anti_affinity("rack", "app=g0")
        if random.random() < 0.2:
            made.port(80)
        cache.add(made.node(f"n{random.randrange(count)}").obj())


def world(seed: int) -> tuple[Cache, Mapping[str, Profile], PodGroup, list[Member]]:
    random = Random(seed)
    gates = "GenericWorkload=true" + random.choice(["", ",TopologyAwareWorkloadScheduling=true"])
    configuration = load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)
    profiles, cache = build_profiles(configuration), Cache(configuration.gates)
    full_cluster(random, cache)
    return cache, profiles, *random_group(random, cache, "g0")


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_a_units_own_nodes_is_enough(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, profiles, group, members = world(seed)
    found = attempt_group(cache, profiles, group, members)
    monkeypatch.setattr(preempting, "_mind_their_own_nodes", lambda *_: False)
    slowly = attempt_group(cache, profiles, group, members)
    assert seen(found) == seen(slowly)
    assert outcomes(found) == outcomes(slowly)


def outcomes(attempt: GroupAttempt) -> list[tuple[str, bool, int]]:
    units = attempt.preemption.units if attempt.preemption is not None else []
    return [(each.unit.first_key, each.may_stay, each.violations) for each in units]


def test_the_clusters_are_such_that_it_matters() -> None:
    """In many of them units are evicted and spared, where the short way is taken and where it is not."""
    seen_kinds: Counter[tuple[bool, bool]] = Counter()
    for seed in SEEDS:
        cache, profiles, group, members = world(seed)
        attempt = attempt_group(cache, profiles, group, members)
        trial = attempt.preemption.trial if attempt.preemption is not None else None
        if trial is not None and trial.placed.status.ok:
            stage = GroupStage(cache, profiles["default-scheduler"], group, members)
            is_short = preempting._mind_their_own_nodes(stage, trial.placed.assigned)
            seen_kinds.update((is_short, each[1]) for each in outcomes(attempt))
    assert min(seen_kinds[short, stays] for short in (True, False) for stays in (True, False)) > 10
