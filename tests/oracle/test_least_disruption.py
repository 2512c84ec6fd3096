"""The least disruption against what preemption decides: never more, on random clusters with budgets and all rules."""

from __future__ import annotations

from hypothesis import event, given
from tests.oracle.fragmented_clusters import fragmented
from tests.oracle.preemption_clusters import World, key_of, worlds
from tests.oracle.settling_clusters import plain
from tests.support.examples import examples

from bayplan import Cluster
from bayplan.analysis.answers.least_disruption import Disruption, LeastDisruption


@examples(50)
@given(worlds())
def test_the_optimum_is_never_above_what_preemption_does(world: World) -> None:
    world.pods, world.departed = world.running(), []
    compare(world)


@examples(50)
@given(fragmented())
def test_nor_where_resources_decide(world: World) -> None:
    """And once its victims are gone the pod fits, where the answer says so."""
    world.wanting.spec.priority, world.wanting.spec.preemption_policy = 20, "PreemptLowerPriority"
    found = compare(world)
    if found.fits:
        world.pods = [one for one in world.pods if key_of(one) not in found.victims]
        assert cluster_of(world).explain(key_of(world.wanting)).fits


def cluster_of(world: World) -> Cluster:
    things = (*world.nodes, *world.others, *world.budgets, *world.pods, *world.nominated, world.wanting)
    return Cluster.from_objects([plain(thing) for thing in things])


def compare(world: World) -> LeastDisruption:
    cluster, key = cluster_of(world), key_of(world.wanting)
    foreign = "never" if world.own_schedulers is not None else None
    found = cluster.least_disruption(key, foreign_victims=foreign)
    preemption = cluster.explain(key, foreign_victims=foreign).to_dict()["preemption"] or {}
    candidates = preemption.get("candidates") or {}
    event(f"candidates: {bool(candidates)}, bound: {found.bound}")
    for candidate in candidates.values():
        actual = Disruption(candidate["numPDBViolations"], len(candidate["victims"]))
        assert found.bound is not None
        assert found.bound <= actual
    return found
