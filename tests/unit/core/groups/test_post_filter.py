"""What the PodGroupPostFilter chain says of groups that do not fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import PreFiltered, Ready
from bayplan.core.framework.group_contract import GroupFailure, PodGroupPostFiltered
from bayplan.core.framework.verdict import SUCCESS, Status, unschedulable
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.snapshot import View
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


class Remembers:
    """Keeps something of each pod from PreFilter on, and rejects all."""

    name: ClassVar[str] = "Remembers"

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Ready(f"what is known of {pod.key}")


@dataclass
class Asked:
    """Says what it is told to, and notes what it could have known."""

    name: ClassVar[str] = "Asked"
    answer: Status
    known: list[object] = field(default_factory=list)
    times: int = 0

    def pod_group_post_filter(self, failure: GroupFailure) -> PodGroupPostFiltered:
        self.times += 1
        self.known += [failure.state_of("Remembers", member) for member in failure.info.pods]
        return PodGroupPostFiltered(self.answer)


def asked(*plugins: Asked) -> str:
    """What is said of a gang of two that does not fit, by these plugins alone."""
    configuration = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
    profile = build_profiles(configuration)["default-scheduler"]
    groups = replace(profile.groups, post_filter=plugins)
    profile = replace(profile, pre_filter=(*profile.pre_filter, Remembers()), groups=groups)
    cache = Cache(configuration.gates)
    cache.add(make.node("a").capacity(cpu="3", memory="8Gi", pods=10).obj())
    group = make.pod_group("g").gang(2).obj()
    pods = [make.pod(name).cpu("2").in_group("g").obj() for name in ("x", "y")]
    members = [Member(pod, cache.info(pod)) for pod in pods]
    attempt = attempt_group(cache, {"default-scheduler": profile}, group, members)
    assert attempt.preemption is not None
    return attempt.preemption.status.message


def test_the_next_plugin_is_asked_where_the_one_before_it_did_not_help() -> None:
    first, second, third = Asked(unschedulable("not I")), Asked(SUCCESS), Asked(SUCCESS)
    asked(first, second, third)
    assert (first.times, second.times, third.times) == (1, 1, 0)
    assert asked(Asked(unschedulable("not I")), Asked(unschedulable("nor I"))) == "not I, nor I"


def test_a_plugin_sees_what_was_known_of_each_member_when_it_was_tried() -> None:
    plugin = Asked(unschedulable("nothing"))
    asked(plugin)
    assert plugin.known == ["what is known of default/x", "what is known of default/y"]
