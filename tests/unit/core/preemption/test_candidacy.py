"""Nodes that cannot be cheaper than the best candidate are not tried, and the choice is that of a full search."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import built, default_profile

from bayplan.analysis.placement import PlacedPod, Placer
from bayplan.core.cache import Cache
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.model.pod import Pod
from bayplan.testing import builders as make

PROFILES = {"default-scheduler": default_profile()}
NODES = 80


def full_cluster(drawn: random.Random) -> Cache:
    """No node has room for a pod of more than one core, and hardly two pods started at the same time."""
    nodes = [make.node(f"n{number:02}").capacity(cpu="8", memory="32Gi", pods=20) for number in range(NODES)]
    pods = []
    for number in range(NODES * 7):
        pod = make.pod(f"p{number}").cpu(1).memory("1Gi").labels(app=drawn.choice("abc")).priority(drawn.choice([0, 5]))
        started = f"2026-01-{drawn.randrange(1, 29):02}T{drawn.randrange(24):02}:00:00Z"
        pods.append(pod.running(f"n{number % NODES:02}", since=started))
    budget = make.budget("b").selects(app="a").allows(drawn.choice([0, 3]))
    return cache_of(*map(built, (*nodes, *pods, budget)))


def preemptors(drawn: random.Random) -> list[Pod]:
    """Of few kinds; some need the room of several pods."""
    made = [
        make.pod(f"x{number}").cpu(drawn.choice([2, 2, 2, 4])).memory("1Gi").priority(drawn.choice([3, 50]))
        for number in range(30)
    ]
    return [each.obj() for each in made]


def outcomes(placer: Placer, pods: Sequence[Pod]) -> list[tuple[str | None, tuple[str, ...]]]:
    placed: list[PlacedPod] = [placer.place(pod) for pod in pods]
    return [(each.node, each.victims) for each in placed]


@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_a_full_search_in_trial_after_trial(seed: int) -> None:
    drawn = random.Random(seed)
    cache = full_cluster(drawn)
    placer = Placer(cache, PROFILES, keeps_ties=False)
    slowly = Placer(cache, PROFILES, keeps_ties=False, reuse=False)
    for is_trial in (True, True, False):
        pods = preemptors(drawn)
        with cache.trial():
            expected = outcomes(slowly, pods)
        with cache.trial() if is_trial else nullcontext():
            assert outcomes(placer, pods) == expected, f"seed {seed}"
        assert any(victims for _, victims in expected), "a test of nothing"
        placer.forget_nominations()
        slowly.forget_nominations()


def test_most_nodes_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = full_cluster(random.Random(1))
    placer = Placer(cache, PROFILES, keeps_ties=False)
    tried: list[int] = []
    try_node = FewNodes.try_node

    def watched(self: FewNodes, view: object, demands: object, row: int, priority: int) -> object:
        tried.append(row)
        return try_node(self, view, demands, row, priority)  # type: ignore[arg-type]

    monkeypatch.setattr(FewNodes, "try_node", watched)
    for number in range(20):
        assert placer.place(make.pod(f"x{number}").cpu(2).memory("1Gi").priority(50).obj()).victims
    assert 0 < len(tried) < NODES
