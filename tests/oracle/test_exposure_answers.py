"""What `exposure` says, checked by placing: a preemptor at the threshold evicts the pod, and a smaller one does not.

The preemptors are made here and placed into the whole cluster by `place`, one cluster for each; nothing of the search
for thresholds is used. Random clusters have budgets, nominated pods, taints, volumes, ports, (anti-)affinity and pods
of other schedulers.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World, key_of, worlds
from tests.support.examples import examples

from bayplan.analysis.cluster import Cluster
from bayplan.controllers.workloads.daemon_placement import pin
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import pod, priority_class

CPU_AMOUNTS = (1, 499, 500, 501, 1000, 1500, 2000, 2500, 3000, 3999, 4000)


def cluster_of(world: World, *more: Object) -> Cluster:
    things = (*world.nodes, *world.others, *world.budgets, *world.running(), *world.nominated, *more)
    return Cluster(deepcopy(list(things)))


def foreign_victims(world: World) -> str | None:
    return None if world.own_schedulers is None else "never"


def preemptor(subject: Pod, priority: int, resource: str, amount: int) -> Pod:
    """It wants nothing but room on the subject's node."""
    built = pod("preemptor", subject.metadata.namespace).priority(priority).tolerates()
    if resource != "pods":
        built.request({resource: f"{amount}m" if resource == "cpu" else amount})
    made = built.obj()
    pin(made, subject.spec.node_name)
    return made


def evicts(world: World, subject: Pod, priority: int, resource: str, amount: int) -> bool:
    made = preemptor(subject, priority, resource, amount)
    placement = cluster_of(world, made).place([key_of(made)], foreign_victims=foreign_victims(world))
    return key_of(subject) in placement.decisions[0].victims


def document_of(one: Pod) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(one)
    return document | {"apiVersion": "v1"}


@examples(60)
@given(worlds(), st.data())
def test_a_preemptor_at_the_threshold_evicts_and_one_below_does_not(world: World, data: st.DataObject) -> None:
    running = world.running()
    if not running:
        return
    subject = data.draw(st.sampled_from(running))
    cluster = cluster_of(world, priority_class("urgent", 70).obj())
    (found,) = cluster.exposure(key_of(subject), foreign_victims=foreign_victims(world)).pods
    event(f"reason: {found.reason or [each.resource for each in found.lowest.thresholds]}")
    for danger in (found.lowest, *found.classes):
        for threshold in danger.thresholds:
            assert evicts(world, subject, danger.priority, threshold.resource, threshold.amount)
            if threshold.resource != "pods":
                assert not evicts(world, subject, danger.priority, threshold.resource, threshold.amount - 1)


@examples(40)
@given(worlds(), st.data())
def test_less_than_the_threshold_never_evicts(world: World, data: st.DataObject) -> None:
    running = world.running()
    if not running:
        return
    subject = data.draw(st.sampled_from(running))
    (found,) = cluster_of(world).exposure(key_of(subject), foreign_victims=foreign_victims(world)).pods
    thresholds = {each.resource: each.amount for each in found.lowest.thresholds}
    if "pods" in thresholds:
        return
    amount = data.draw(st.sampled_from(CPU_AMOUNTS))
    if amount < thresholds.get("cpu", 1 << 40):
        assert not evicts(world, subject, found.lowest.priority, "cpu", amount)


@examples(40)
@given(worlds(), st.data())
def test_a_given_preemptor_evicts_whom_place_says(world: World, data: st.DataObject) -> None:
    running = world.running()
    if not running:
        return
    subject = data.draw(st.sampled_from(running))
    setting = foreign_victims(world)
    answer = cluster_of(world).exposure(key_of(subject), against=[document_of(world.wanting)], foreign_victims=setting)
    placed = cluster_of(world, world.wanting).place([key_of(world.wanting)], foreign_victims=setting).decisions[0]
    (said,) = answer.against
    assert (said.outcome.node or None, said.outcome.victims) == (placed.node, placed.victims)
    assert answer.is_evicted == (key_of(subject) in placed.victims)
