"""Nodes that `plan` proposes, against placing the pods on them from scratch, and against every cheaper choice."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.examples import examples

from bayplan import Cluster
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus
from bayplan.testing import builders as make

SECONDS = 5.0
HOST = "kubernetes.io/hostname"
CORES = {"small": 2, "large": 4}


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    found = []
    for number in range(draw(st.integers(1, 5))):
        built = make.pod(f"p{number}").labels(app="web").cpu(str(draw(st.integers(1, 3))))
        rule = draw(st.sampled_from(["", "", "apart", "large"]))
        if rule == "apart":
            built = built.pod_anti_affinity(HOST, {"app": "web"})
        if rule == "large":
            built = built.node_selector({"size": "large"})
        found.append(built.obj())
    return found


prices = st.fixed_dictionaries({"small": st.integers(1, 6), "large": st.integers(1, 9)})


def catalog(price: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"name": name, "capacity": {"cpu": cores}, "price": price[name], "labels": {"size": name}}
        for name, cores in CORES.items()
    ]


def with_nodes(wanted: list[Pod], counts: dict[str, int], without: str = "") -> Cluster:
    """The pods, and these nodes but for one of a name."""
    nodes: list[Object] = [
        make.node(f"{name}-{number}")
        .capacity(cpu=str(CORES[name]))
        .label(HOST, f"{name}-{number}")
        .label("size", name)
        .obj()
        for name, count in counts.items()
        for number in range(1, count + 1 - (name == without))
    ]
    return Cluster([*nodes, *deepcopy(wanted)])


def placed(wanted: list[Pod], counts: dict[str, int], without: str = "") -> bool:
    """Whether all pods get a node when there are these, but for one of a name."""
    cluster = with_nodes(wanted, counts, without)
    return all(decision.node is not None for decision in cluster.place().decisions)


def survives_the_loss_of_each(wanted: list[Pod], counts: dict[str, int]) -> bool:
    """All pods run; then one node is gone, and its pods are placed again."""
    cluster = with_nodes(wanted, counts)
    running = cluster.after(cluster.place())
    for lost in [obj.metadata.name for obj in running.objects if isinstance(obj, Node)]:
        left: list[Object] = [deepcopy(obj) for obj in running.objects if obj.metadata.name != lost]
        for obj in left:
            if isinstance(obj, Pod) and obj.spec.node_name == lost:
                obj.spec.node_name, obj.status = "", PodStatus()
        if any(decision.node is None for decision in Cluster(left).place().decisions):
            return False
    return True


@examples(30)
@given(pods(), prices)
def test_the_nodes_hold_the_pods_and_none_below_the_bound_do(wanted: list[Pod], price: dict[str, int]) -> None:
    found = Cluster([*deepcopy(wanted)]).plan(catalog(price), seconds=SECONDS)
    event(f"proven: {found.is_proven}")
    assert found.bought is not None
    assert found.bound is not None
    assert placed(wanted, {each.name: each.number for each in found.bought})
    assert found.bound <= found.price + 1e-6
    for small, large in product(range(len(wanted) + 1), repeat=2):
        if small * price["small"] + large * price["large"] < found.bound - 1e-3:
            assert not placed(wanted, {"small": small, "large": large}), f"{small} small and {large} large are enough"


@examples(30)
@given(pods(), prices)
def test_with_a_node_gone_the_bound_holds_as_well(wanted: list[Pod], price: dict[str, int]) -> None:
    found = Cluster([*deepcopy(wanted)]).plan(catalog(price), survive="node", seconds=SECONDS)
    event(f"proven: {found.is_proven}")
    assert found.bought is not None
    assert found.bound is not None
    assert survives_the_loss_of_each(wanted, {each.name: each.number for each in found.bought})
    for small, large in product(range(len(wanted) + 2), repeat=2):
        counts = {"small": small, "large": large}
        if small * price["small"] + large * price["large"] < found.bound - 1e-3:
            lost = [name for name, count in counts.items() if count]
            survives = bool(lost) and all(placed(wanted, counts, without=name) for name in lost)
            assert not (survives and placed(wanted, counts)), f"{counts} are enough"
