"""Another scheduler's decisions on pod groups held against ours."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.support.shadow_stage import VirtualShadow

from bayplan.config.loading import load_configuration
from bayplan.config.releases import RELEASES
from bayplan.core.events import ObjectAdded, ObjectChanged
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod, pod_group
from bayplan.testing.pods import PodBuilder
from bayplan.worlds.shadow_findings import Agreement, Findings

NOW = 1_700_000_000 * SECOND
ON = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)


def nodes(**cpus: str) -> list[Object]:
    return [node(name).capacity(cpu=cpu, memory="8Gi", pods=10).obj() for name, cpu in cpus.items()]


def member(name: str, cpu: str = "2", priority: int = 0) -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).in_group("g")


class Stage:
    """What the watch shows, step by step."""

    def __init__(self, *objects: Object) -> None:
        self.beside = VirtualShadow(ON, NOW)
        self.pods: dict[str, Pod] = {}
        for each in objects:
            if isinstance(each, Pod):
                self.pods[each.metadata.name] = each
            self.beside.event(ObjectAdded(each), NOW)

    def changes(self, name: str, changed: Pod) -> None:
        before, self.pods[name] = self.pods[name], changed
        self.beside.event(ObjectChanged(before, changed), NOW)

    def bind(self, name: str, where: str) -> None:
        """The other scheduler does."""
        waiting = self.pods[name]
        self.changes(name, replace(waiting, spec=replace(waiting.spec, node_name=where)))

    def found(self) -> Findings:
        return self.beside.shadow.finish(NOW + 60 * SECOND)


@pytest.mark.parametrize(
    ("where", "agreements"),
    [
        (("a", "b"), {Agreement.SAME: 2}),
        (("b", "a"), {Agreement.TIED: 1, Agreement.MOVED: 1}),
        (("c", "c"), {Agreement.DIFFERENT: 2}),
    ],
)
def test_members_on_their_nodes_are_compared_one_by_one(
    where: tuple[str, str], agreements: Mapping[Agreement, int]
) -> None:
    group: list[Object] = [pod_group("g").gang(2).obj(), member("p0").obj(), member("p1").obj()]
    stage = Stage(*nodes(a="4", b="4", c="16"), pod("busy").cpu("13").node("c").obj(), *group)
    stage.bind("p0", where[0])
    stage.bind("p1", where[1])
    found = stage.found()
    assert (found.decisions, found.placements) == (2, agreements)


@pytest.mark.parametrize(
    ("where", "agreements"), [(("a", "b"), {Agreement.SAME: 2}), (("b", "a"), {Agreement.TIED: 2})]
)
def test_victims_of_a_group_are_compared_node_by_node(
    where: tuple[str, str], agreements: Mapping[Agreement, int]
) -> None:
    """Each member is nominated to a node, from which a victim goes; which of them to which is no difference."""
    assert preempted_for_group({"a": "3", "b": "3"}, where) == agreements


@pytest.mark.parametrize(
    ("where", "agreements"), [(("a", "b"), {Agreement.SAME: 1}), (("b", "a"), {Agreement.TIED: 2})]
)
def test_a_member_for_which_nobody_has_to_go_preempts_nobody(
    where: tuple[str, str], agreements: Mapping[Agreement, int]
) -> None:
    assert preempted_for_group({"a": "3"}, where) == agreements


def preempted_for_group(small: Mapping[str, str], where: tuple[str, str]) -> Mapping[Agreement, int]:
    """What is found of a group whose members are nominated and bound there, after victims of these sizes have gone."""
    running = [pod(f"v-{name}").cpu(cpu).priority(-1).node(name).obj() for name, cpu in small.items()]
    group: list[Object] = [
        pod_group("g").gang(2).priority(5).obj(),
        member("p0", "3", priority=5).obj(),
        member("p1", "3", priority=5).obj(),
    ]
    stage = Stage(*nodes(a="4", b="4"), *running, *group)
    for name, cpu in small.items():
        message = "default-scheduler: preempting to accommodate a higher priority podgroup"
        marked = pod(f"v-{name}").cpu(cpu).priority(-1).node(name).terminating()
        marked.condition("DisruptionTarget", "True", "PreemptionByScheduler", message)
        stage.changes(f"v-{name}", marked.obj())
    for number, name in enumerate(where):
        waiting = stage.pods[f"p{number}"]
        stage.changes(f"p{number}", replace(waiting, status=replace(waiting.status, nominated_node_name=name)))
    for number, name in enumerate(where):
        stage.bind(f"p{number}", name)
    return dict(stage.found().preemptions)
