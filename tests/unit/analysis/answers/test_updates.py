"""How far an update gets, and what it does to others on its way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned, whatif

from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.answers.updates import Update
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.model.workloads import RollingUpdate, UpdateStrategy
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

OLD, NEW = make.pod("t").labels(app="x").cpu("1"), make.pod("t").labels(app="x").cpu("2")


def strategy(kind: str = "RollingUpdate", **rolling: Any) -> UpdateStrategy:
    return UpdateStrategy(type=kind, rolling_update=RollingUpdate(**rolling))


def update_deployment(cpu: str, number: int, *others: Builder[Any], **spec: Any) -> WhatIf:
    """A Deployment with that many pods on one node of that size gets another template."""
    owner = make.deployment("web").replicas(number).template(OLD)
    current = make.replica_set("web-1").owner(owner).replicas(number).template(OLD)
    pods = [owned(f"web-1-{place}", current).labels(app="x").cpu("1").running("a") for place in range(number)]
    cluster = cluster_of(make.node("a").capacity(cpu=cpu), owner, current, *pods, *others)
    return whatif(cluster, make.deployment("web").manifest().replicas(number).set(**spec).template(NEW))


def test_a_deployment_goes_as_far_as_there_is_room_to_surge() -> None:
    """4 CPUs, 3 in use: no room for a new pod of 2 beside the old ones, and none may be missing."""
    found = update_deployment("4", 3, strategy=strategy(max_surge=1, max_unavailable=0))
    assert found.updates == (Update("Deployment default/web", replaced=0, left=3),)
    assert [fate.pod for fate in found.pending] == ["default/web-new-1"]


def test_a_deployment_that_may_lack_pods_makes_room_by_itself() -> None:
    found = update_deployment("6", 3, strategy=strategy(max_surge=0, max_unavailable=1))
    assert found.updates == (Update("Deployment default/web", replaced=3, left=0),)
    assert {fate.pod: fate.node_after for fate in found.placed} == {f"default/web-new-{n}": "a" for n in (1, 2, 3)}
    assert [each.cause for each in found.removed] == [DepartureCause.UPDATED] * 3


def test_an_update_that_gets_stuck_keeps_what_may_not_be_missing() -> None:
    """Of two pods that must be there at any time one is new, and the other one stays."""
    found = update_deployment("4", 3, strategy=strategy(max_surge=0, max_unavailable=1))
    assert found.updates == (Update("Deployment default/web", replaced=2, left=1),)
    assert (len(found.placed), len(found.pending)) == (1, 1)


def test_a_deployment_that_is_recreated_leaves_nothing_old() -> None:
    found = update_deployment("4", 3, strategy=UpdateStrategy(type="Recreate"))
    assert found.updates == (Update("Deployment default/web", replaced=3, left=0),)
    assert (len(found.placed), len(found.pending)) == (2, 1)


def test_new_pods_evict_others_and_old_ones_do_not_come_back() -> None:
    low = owned("low").cpu("1").running("a")
    found = update_deployment("3", 1, low, strategy=strategy(max_surge=1, max_unavailable=0))
    assert [each.pod for each in found.evicted] == []
    important = make.priority_class("important", 10)
    owner = make.deployment("web").replicas(1).template(OLD)
    pods = [
        make.pod("old").owner(make.replica_set("web-1").owner(owner)).labels(app="x").cpu("1").priority(10).running("a")
    ]
    cluster = cluster_of(make.node("a").capacity(cpu="3"), important, owner, low, *pods)
    better = (
        make.deployment("web").manifest().template(make.pod("t").labels(app="x").cpu("2").priority_class("important"))
    )
    assert [each.pod for each in whatif(cluster, better).evicted] == ["default/low"]


def test_pods_of_the_new_template_are_left_alone() -> None:
    """A rollout that was begun and is undone: its old ReplicaSet is the current one again."""
    owner = make.deployment("web").replicas(2).template(NEW)
    first = make.replica_set("web-1").owner(owner).replicas(1).template(OLD)
    second = make.replica_set("web-2").owner(owner).replicas(1).template(NEW)
    pods = [
        owned("kept", first).labels(app="x").cpu("1").running("a"),
        owned("undone", second).labels(app="x").cpu("2").running("a"),
    ]
    cluster = cluster_of(make.node("a").capacity(cpu="4"), owner, first, second, *pods)
    found = whatif(cluster, make.deployment("web").manifest().replicas(2).template(OLD))
    assert found.updates == (Update("Deployment default/web", replaced=1, left=0),)
    assert [each.pod for each in found.removed] == ["default/undone"]


def update_set(sizes: dict[str, str], **spec: Any) -> WhatIf:
    """A StatefulSet of three, whose pods are alone on their nodes, gets a template that asks for two CPUs."""
    owner = make.stateful_set("db").replicas(3).template(OLD)
    nodes = [make.node(name).capacity(cpu=cpu) for name, cpu in sizes.items()]
    pods = [owned(f"db-{ordinal}", owner).labels(app="x").cpu("1").running(node) for ordinal, node in enumerate(sizes)]
    cluster = cluster_of(*nodes, owner, *pods)
    return whatif(cluster, make.stateful_set("db").manifest().replicas(3).set(**spec).template(NEW))


def test_a_stateful_set_goes_from_its_last_pod_to_the_first() -> None:
    found = update_set({"a": "2", "b": "2", "c": "2"})
    assert [each.pod for each in found.removed] == ["default/db-2", "default/db-1", "default/db-0"]
    assert found.updates == (Update("StatefulSet default/db", replaced=3, left=0),)


def test_a_stateful_set_stops_at_the_pod_that_finds_no_place() -> None:
    found = update_set({"a": "2", "b": "1", "c": "2"})
    assert [each.pod for each in found.removed] == ["default/db-2", "default/db-1"]
    assert [fate.pod for fate in found.pending] == ["default/db-1"]


def test_pods_below_the_partition_stay() -> None:
    found = update_set({"a": "2", "b": "2", "c": "2"}, update_strategy=strategy(partition=2))
    assert [each.pod for each in found.removed] == ["default/db-2"]


def test_a_stateful_set_that_waits_for_deletions_stays() -> None:
    assert update_set({"a": "2", "b": "2", "c": "2"}, update_strategy=UpdateStrategy(type="OnDelete")).updates == ()


@pytest.mark.parametrize(("most_away", "removed"), [(1, 1), (2, 2), ("100%", 3)])
def test_a_daemon_set_stops_when_as_many_daemons_are_away_as_may_be(most_away: int | str, removed: int) -> None:
    owner = make.daemon_set("d").template(OLD)
    nodes = [make.node(name).capacity(cpu="1") for name in "abc"]
    daemons = [make.pod(f"d-{name}").owner(owner).labels(app="x").cpu("1").running(name) for name in "abc"]
    cluster = cluster_of(*nodes, owner, *daemons)
    new = make.daemon_set("d").manifest().set(update_strategy=strategy(max_unavailable=most_away)).template(NEW)
    found = whatif(cluster, new)
    assert len(found.removed) == removed
    assert len(found.pending) == removed


@pytest.mark.parametrize(
    ("cpu", "surge", "replaced", "pending"),
    [
        pytest.param("3", 1, 3, 0, id="room for both"),
        pytest.param("2", 1, 0, 1, id="no room beside the old one"),
        pytest.param("2", 2, 0, 2, id="as many wait as may surge"),
        pytest.param("2", "100%", 0, 3, id="all of them wait"),
    ],
)
def test_a_daemon_set_that_may_surge_lets_an_old_daemon_go_when_the_new_one_runs(
    cpu: str, surge: int | str, replaced: int, pending: int
) -> None:
    owner = make.daemon_set("d").template(OLD)
    nodes = [make.node(name).capacity(cpu=cpu) for name in "abc"]
    daemons = [make.pod(f"d-{name}").owner(owner).labels(app="x").cpu("1").running(name) for name in "abc"]
    cluster = cluster_of(*nodes, owner, *daemons)
    surging = strategy(max_surge=surge, max_unavailable=0)
    found = whatif(cluster, make.daemon_set("d").manifest().set(update_strategy=surging).template(NEW))
    assert found.updates == (Update("DaemonSet default/d", replaced=replaced, left=3 - replaced),)
    assert (len(found.removed), len(found.placed), len(found.pending)) == (replaced, replaced, pending)


def test_new_pods_own_the_claims_that_are_made_for_them() -> None:
    owner = make.deployment("web").replicas(1).template(OLD)
    current = make.replica_set("web-1").owner(owner).replicas(1).template(OLD)
    late = make.storage_class("late", mode="WaitForFirstConsumer", default=True)
    cluster = cluster_of(make.node("a"), late, owner, current, owned("web-1-0", current).labels(app="x").running("a"))
    new = make.pod("t").labels(app="x").cpu("1").ephemeral("scratch")
    found = whatif(cluster, make.deployment("web").manifest().replicas(1).template(new))
    assert {fate.pod: fate.node_after for fate in found.placed} == {"default/web-new-1": "a"}
