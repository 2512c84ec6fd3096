"""Victims of a single pod where groups are known."""

from __future__ import annotations

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.member import Member
from bayplan.core.groups.single import attempt_pod
from bayplan.core.preemption.unit_search import UnitsFound
from bayplan.model.kinds import Object
from bayplan.model.well_known import ZONE
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
SKEWED = "node(s) didn't match pod topology spread constraints"


def test_terminating_pods_that_are_taken_out_count_for_the_spread_of_a_pod() -> None:
    """A pod elsewhere that was not counted goes nevertheless: its zone has less than none."""
    group = make.pod_group("old").disrupted_as_a_whole().obj()
    here = make.pod("old-m").cpu("2").in_group("old").node("m").obj()
    there = make.pod("old-n").labels(app="x").in_group("old").node("n").terminating().obj()
    pod = make.pod("p").labels(app="x").cpu("2").priority(9).spread(ZONE, {"app": "x"}).obj()
    m = make.node("m").zone("a").capacity(cpu="2", memory="8Gi", pods=10).obj()
    n = make.node("n").zone("b").capacity(cpu="1", memory="8Gi", pods=10).obj()
    cache = Cache(CONFIGURATION.gates)
    things: list[Object] = [m, n, group, here, there]
    for thing in things:
        cache.add(thing)
    tried = attempt_pod(cache, build_profiles(CONFIGURATION)["default-scheduler"], Member(pod, cache.info(pod)))
    assert tried.evicted == []
    assert isinstance(tried.found, UnitsFound)
    assert tried.found.node_statuses[0].reasons == (SKEWED,)
