"""How placements of a group are scored."""

from __future__ import annotations

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.node import Node
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(
    None, "GenericWorkload=true,TopologyAwareWorkloadScheduling=true", release=RELEASES["1.37"], with_groups=True
)


def node(name: str, rack: str, cpu: str) -> Node:
    return make.node(name).capacity(cpu=cpu, memory="8Gi", pods=10).labels(rack=rack).obj()


def test_what_pods_take_of_a_resource_that_their_node_does_not_have_is_not_counted() -> None:
    """A pod with a cpu is on a node without any: it makes the rack no fuller."""
    cache = Cache(CONFIGURATION.gates)
    for each in (node("a1", "a", "4"), node("a2", "a", "0"), node("b1", "b", "4"), node("b2", "b", "4")):
        cache.add(each)
    cache.add(make.pod("old").cpu("2").memory("1Gi").node("a2").obj())
    group = make.pod_group("g").gang(1).within("rack").obj()
    pod = make.pod("x").cpu("1").memory("1Gi").in_group("g").obj()
    attempt = attempt_group(cache, build_profiles(CONFIGURATION), group, [Member(pod, cache.info(pod))])
    assert attempt.found is not None
    scores = {each.name: each.scores["NodeResourcesFit"] for each in attempt.found.placements or ()}
    # Of rack a's cpu 25 % and of its memory 12 %, of rack b's 12 % and 6 %.
    assert scores == {"a": (25 + 12) // 2, "b": (12 + 6) // 2}
