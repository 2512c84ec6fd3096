"""Who has to go for a group, where plugins look at more than room, and at upstream's copy of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, Rows, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.verdict import Status, unschedulable
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.well_known import ZONE
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)


class TwoTokens:
    """There are two: a pod called `holder` has one, and each member takes one with what is reserved for it."""

    name: ClassVar[str] = "TwoTokens"
    reads: ClassVar[Reads] = Reads.CLUSTER

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[ResourceClaim]:
        return [ResourceClaim(metadata=ObjectMeta(name=pod.key.rpartition("/")[2], namespace="default"))]

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        on_node = {view.pods.keys[row] for row in view.nodes.pod_rows[0]}
        taken = len(view.objects.resource_claims) + ("default/holder" in on_node)
        codes: IntArray = np.full(view.nodes.count, int(taken >= 2), dtype=np.int64)
        return codes[every_row(view.nodes.count)[rows]]

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return unschedulable("no token")


def test_what_is_reserved_for_one_member_is_gone_for_the_next_one() -> None:
    """The holder goes although it is the more important pod; there is room for the other one."""
    tokens, profile = TwoTokens(), build_profiles(CONFIGURATION)["default-scheduler"]
    profile = replace(profile, filter=(*profile.filter, tokens), reserve=(*profile.reserve, tokens))
    cache = Cache(CONFIGURATION.gates)
    cache.add(make.node("n").capacity(cpu="3", memory="8Gi", pods=10).obj())
    for name, priority in (("holder", 15), ("other", 10)):
        cache.add(make.pod(name).cpu("1").priority(priority).node("n").obj())
    group = make.pod_group("g").gang(2).priority(100).obj()
    pods = [make.pod(name).cpu("1").priority(100).in_group("g").obj() for name in ("x", "y")]
    members = [Member(pod, cache.info(pod)) for pod in pods]
    preemption = attempt_group(cache, {"default-scheduler": profile}, group, members).preemption
    assert preemption is not None
    assert preemption.victims == ["default/holder"]
    assert not cache.objects.resource_claims


def node(name: str, zone: str, cpu: str = "2") -> make.NodeBuilder:
    return make.node(name).zone(zone).capacity(cpu=cpu, memory="8Gi", pods=10)


def preemption_for(pod: Pod, *objects: Object) -> GroupPreemption:
    cache = Cache(CONFIGURATION.gates)
    for obj in objects:
        cache.add(obj)
    group = make.pod_group("g").gang(1).priority(9).obj()
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


def test_members_that_are_nominated_take_a_place_twice_while_units_are_put_back() -> None:
    """Upstream counts the first one on its node, and does not end its nomination, which has priority 0."""
    cache, group = Cache(CONFIGURATION.gates), make.pod_group("g").gang(2).obj()
    cache.add(make.node("n").capacity(cpu="4", memory="8Gi", pods=3).obj())
    for name in ("v1", "v2"):
        cache.add(make.pod(name).cpu("1").priority(-1).node("n").obj())
    pods = [make.pod(name).cpu("1").in_group("g").nominated("n").obj() for name in ("g-0", "g-1")]
    for pod in pods:
        cache.nominate(pod, "n")
    attempt = attempt_group(cache, build_profiles(CONFIGURATION), group, [Member(pod, cache.info(pod)) for pod in pods])
    assert attempt.preemption is not None
    assert attempt.preemption.victims == ["default/v1", "default/v2"]
