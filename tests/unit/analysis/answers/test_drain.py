"""Draining nodes: who goes where in which step, who may not, who is lost."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.changed_clusters import cluster_of, owned
from tests.support.devices import asks, claim_template, device, device_class, slice_of

from bayplan import Cluster
from bayplan.analysis.answers.drain import Draining, nodes_named
from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

A, B = make.node("a").capacity(cpu="4").label("pool", "x"), make.node("b").capacity(cpu="4").label("pool", "x")


def web(name: str, node: str) -> PodBuilder:
    return owned(name).labels(app="web").cpu("1").running(node)


def moves(found: Draining) -> list[tuple[str, int, str]]:
    return [(each.pod, each.step, each.node) for node in found.nodes for each in node.evictions]


def test_pods_go_to_other_nodes() -> None:
    found = cluster_of(A, B, web("p", "a"), web("q", "a")).drain(["a"])
    assert moves(found) == [("default/p", 1, "b"), ("default/q", 1, "b")]
    assert found.works


def test_a_budget_lets_pods_go_one_by_one_as_others_get_ready() -> None:
    budget = make.budget("web").selects(app="web").allows(1)
    found = cluster_of(A, B, budget, web("p", "a"), web("q", "a"), web("r", "a")).drain(["a"])
    assert moves(found) == [("default/p", 1, "b"), ("default/q", 2, "b"), ("default/r", 3, "b")]
    assert found.works


def test_a_budget_stops_a_drain_when_the_first_pod_finds_no_place() -> None:
    budget = make.budget("web").selects(app="web").allows(1)
    found = cluster_of(A, budget, web("p", "a"), web("q", "a")).drain(["a"])
    assert moves(found) == [("default/p", 1, "")]
    assert [(each.pod, each.budget) for each in found.nodes[0].blocked] == [("default/q", "default/web")]
    assert found.blocking_budgets == ["default/web"]
    assert (found.works, list(found.pending)) == (False, ["default/p"])


def test_what_stays_and_what_is_lost() -> None:
    daemon = make.pod("daemon").owner(make.daemon_set("d")).running("a")
    mirror = make.pod("mirror").annotations({MIRROR_ANNOTATION: "x"}).owner("Node", "a").running("a")
    over = make.pod("over").running("a").phase("Succeeded")
    found = cluster_of(A, B, daemon, mirror, over, make.pod("bare").running("a")).drain(["a"])
    (node,) = found.nodes
    assert (node.daemons, node.mirrors, node.lost) == (("default/daemon",), ("default/mirror",), ("default/bare",))
    assert moves(found) == [("default/bare", 1, "")]
    assert found.options == ["--ignore-daemonsets", "--force"]
    assert not found.works


def test_a_pod_that_is_leaving_anyway_is_no_loss() -> None:
    found = cluster_of(A, B, owned("p").terminating().running("a")).drain(["a"])
    assert (found.works, found.options) == (True, [])


def test_pods_that_are_more_important_make_room_elsewhere() -> None:
    low = owned("low").cpu("4").running("b")
    found = cluster_of(A, B, low, owned("high").cpu("4").priority(1).running("a")).drain(["a"])
    assert [(each.pod, each.by) for each in found.preempted] == [("default/low", "default/high")]
    assert list(found.pending) == ["default/low"]


def test_what_was_pending_before_is_no_consequence() -> None:
    found = cluster_of(A, B, make.pod("large").cpu("99"), web("p", "a")).drain(["a"])
    assert found.works


def test_several_nodes_are_cordoned_before_the_first_one_is_drained() -> None:
    found = cluster_of(A, B, make.node("c"), web("p", "a")).drain(["a", "b"])
    assert moves(found) == [("default/p", 1, "c")]


def test_rolling_a_node_is_back_before_the_next_one_goes() -> None:
    found = cluster_of(A, B, web("p", "a"), web("q", "b")).drain(["a", "b"], rolling=True)
    assert moves(found) == [("default/p", 1, "b"), ("default/p", 1, "a"), ("default/q", 1, "a")]
    assert found.works


def test_rolling_a_pod_may_wait_until_its_node_is_back() -> None:
    found = cluster_of(A, owned("p").cpu("4").running("a")).drain(["a"], rolling=True)
    assert found.nodes[0].pending == ("default/p",)
    assert (found.works, found.ends_on) == (True, {"default/p": "a"})


def test_rolling_stops_at_a_node_that_cannot_be_drained() -> None:
    budget = make.budget("web").selects(app="web").allows(0)
    found = cluster_of(A, B, budget, web("p", "a")).drain(["a", "b"], rolling=True)
    assert ([node.node for node in found.nodes], found.unreached) == (["a"], ("b",))
    assert not found.works


def test_a_pool_is_drained_by_its_labels() -> None:
    cluster = cluster_of(B, make.node("c"), A)
    assert nodes_named(cluster, ["c"], "pool=x") == ["c", "a", "b"]
    assert nodes_named(cluster, ["a"], "pool") == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "selector", "message"),
    [
        (["somewhere"], "", r"Node somewhere: not found in the input$"),
        (["node-aa"], "", r"Node node-aa: not found in the input; did you mean node-a\?"),
        ([], "pool=z", "--selector: 'pool=z' selects no node"),
        ([], "pool=(", "--selector: .*"),
    ],
)
def test_nodes_that_are_not_there(names: list[str], selector: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        cluster_of(make.node("node-a"), B).drain(names, selector=selector)


def test_a_pod_gets_new_claims_where_it_goes() -> None:
    """Claims of templates, for devices and for volumes, belong to one pod; the next one has its own."""
    owner = (
        make.deployment("ml")
        .replicas(1)
        .template(make.pod("t").labels(app="ml").resource_claim("gpu", template="any").ephemeral("scratch"))
    )
    objects: list[Object] = [
        *(make.node(name).obj() for name in "ab"),
        *(slice_of(name, device("d")) for name in "ab"),
        device_class("gpu"),
        claim_template("any", asks("r", of="gpu")),
        make.storage_class("late", mode="WaitForFirstConsumer", default=True).obj(),
        owner.manifest().obj(),
    ]
    found = Cluster(deepcopy(objects)).drain(["a"])
    (eviction,) = found.nodes[0].evictions
    assert (eviction.pod, eviction.node, found.works) == ("default/ml-new-1", "b", True)
