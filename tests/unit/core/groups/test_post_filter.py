"""What the PodGroupPostFilter chain says of groups that do not fit."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import GroupSchedulingConstraints
from bayplan.testing import builders as make


@pytest.mark.parametrize(
    ("gates", "speaks"),
    [("GenericWorkload=true", True), ("GenericWorkload=true,TopologyAwareWorkloadScheduling=true", False)],
    ids=["without topologies", "with topologies"],
)
def test_dynamic_resources_say_nothing_of_groups_with_constraints_though_empty_ones(gates: str, speaks: bool) -> None:
    configuration = load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)
    cache = Cache(configuration.gates)
    cache.add(make.node("a").capacity(cpu="1", memory="8Gi", pods=10).obj())
    cache.add(make.pod("old").cpu("1").priority(-1).node("a").obj())
    group = make.pod_group("g").gang(1).obj()
    group.spec.scheduling_constraints = GroupSchedulingConstraints()
    pod = make.pod("x").cpu("2").in_group("g").obj()
    attempt = attempt_group(cache, build_profiles(configuration), group, [Member(pod, cache.info(pod))])
    assert attempt.preemption is not None
    said = attempt.preemption.status.message
    assert ("deallocation and deletion of ResourceClaims completed" in said) is speaks
    assert "pod group preemption: " in said
