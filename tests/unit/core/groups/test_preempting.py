"""Who has to go for a group: what upstream's copy of the cluster does not have, or has of its own."""

from __future__ import annotations

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.well_known import ZONE
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)


def node(name: str, zone: str, cpu: str = "2") -> make.NodeBuilder:
    return make.node(name).zone(zone).capacity(cpu=cpu, memory="8Gi", pods=10)


def cache_with(*objects: Object) -> Cache:
    cache = Cache(CONFIGURATION.gates)
    for obj in objects:
        cache.add(obj)
    return cache


def preemption_for(pod: Pod, *objects: Object) -> GroupPreemption:
    cache, group = cache_with(*objects), make.pod_group("g").gang(1).priority(9).obj()
    attempt = attempt_group(cache, build_profiles(CONFIGURATION), group, [Member(pod, cache.info(pod))])
    assert attempt.preemption is not None
    return attempt.preemption


def test_in_a_trial_images_draw_nobody() -> None:
    """Upstream copies the nodes a second time, and the second copy has lost how many nodes hold an image."""
    nodes = [node("m", "a").obj(), node("n", "b").image("app:1", size_bytes=10**9).obj()]
    pod = make.pod("g-0").image("app:1").cpu("2").priority(9).in_group("g").obj()
    olds = [make.pod(f"old-{at}").cpu("1").node(at).obj() for at in ("m", "n")]
    assert preemption_for(pod, *nodes, *olds).proposed == {"default/g-0": "m"}


def test_terminating_pods_that_are_put_back_count_for_the_spread_of_a_group() -> None:
    pod = make.pod("g-0").labels(app="x").cpu("1").priority(9).in_group("g").spread(ZONE, {"app": "x"}).obj()
    leaving = make.pod("leaving").labels(app="x").cpu("1").node("m").terminating().obj()
    staying = make.pod("staying").cpu("1").node("m").obj()
    found = preemption_for(pod, node("m", "a").obj(), node("n", "b", cpu="0").obj(), leaving, staying)
    assert found.victims == ["default/leaving"]
