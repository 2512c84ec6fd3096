"""Random clusters with resources of every sort, and what they offer and take, counted on the plain objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from tests.support.caches import cache_of

from bayplan.core.columns import ALL_ROWS, every_row, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod

GPU = "nvidia.com/gpu"
DISK = "example.com/disk"
SCALARS = (GPU, DISK, "hugepages-2Mi")
BASIC = ("cpu", "memory", "ephemeral-storage")
NODE_NAMES = ("n0", "n1", "n2", "n3", "n4")
MIB = 1 << 20

# ---------------------------------------------------------------- counting

Cluster = tuple[list[Node], list[Pod]]


def units(name: str, raw: Any) -> int:
    """Quantities in these tests are whole milli-cores (`5m`) or whole numbers."""
    return int(raw.removesuffix("m")) if name == "cpu" else int(raw)


def requests(made: Pod, name: str, *, supposed: bool) -> int:
    total = 0
    for container in made.spec.containers:
        if name in container.resources.requests:
            total += units(name, container.resources.requests[name])
        elif supposed:
            total += {"cpu": 100, "memory": 200 * MIB}.get(name, 0)
    return total


def offered(on: Node, name: str) -> int:
    return units(name, on.status.allocatable.get(name, "0"))


def taken(there: Iterable[Pod], name: str, *, supposed: bool = False) -> int:
    return sum(requests(made, name, supposed=supposed) for made in there)


def on_node(there: Iterable[Pod], name: str) -> list[Pod]:
    return [made for made in there if made.spec.node_name == name]


# ---------------------------------------------------------------- drawing

LIMITS = {"cpu": 4000, "memory": 4096 * MIB, "ephemeral-storage": 1000, GPU: 8, DISK: 3, "hugepages-2Mi": 64 * MIB}


def quantities(share_max: float) -> st.SearchStrategy[dict[str, str]]:
    """Some of the resources, each up to a share of its limit, 0 included."""
    amounts = {
        name: st.integers(0, int(limit * share_max)).map("{}m".format if name == "cpu" else str)
        for name, limit in LIMITS.items()
    }
    return st.fixed_dictionaries({}, optional=amounts)


#: Something of every resource: rules take a shorter way where no node lacks one.
SOME_OF_ALL = st.fixed_dictionaries(
    {name: st.integers(1, limit).map("{}m".format if name == "cpu" else str) for name, limit in LIMITS.items()}
)


@st.composite
def nodes(draw: st.DrawFn, name: str, offers: st.SearchStrategy[dict[str, str]]) -> Node:
    made = node(name).obj()
    made.status.allocatable = {**draw(offers), "pods": draw(st.integers(0, 6))}
    return made


@st.composite
def pods(draw: st.DrawFn, name: str, node_name: str = "") -> Pod:
    made = pod(name).request(draw(quantities(0.5)))
    if draw(st.booleans()):
        made.container("second")
        made._object.spec.containers[1].resources.requests.update(draw(quantities(0.3)))
    return (made.running(node_name) if node_name else made).obj()


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes, and pods on them; some pods are on a node that has no object."""
    offers = draw(st.sampled_from([quantities(1.0), SOME_OF_ALL]))
    made = [draw(nodes(name, offers)) for name in NODE_NAMES[: draw(st.integers(1, len(NODE_NAMES)))]]
    homes = st.sampled_from([*(each.metadata.name for each in made), "ghost"])
    return made, [draw(pods(f"p{i}", draw(homes))) for i in range(draw(st.integers(0, 8)))]


names_subset = st.lists(st.sampled_from([*BASIC, *SCALARS, "unheard"]), min_size=1, max_size=5, unique=True)


# ---------------------------------------------------------------- asking


def view_of(cluster: Cluster, wanted: Pod) -> tuple[PodInfo, View]:
    cache = cache_of(*cluster[1], *cluster[0])
    return cache.info(wanted), cache.view()


def row_of(view: View, made: Node) -> int:
    return view.nodes.rows_by_name[made.metadata.name]


def check_scores(plugin: Any, state: Any, view: View, expected: dict[int, int]) -> None:
    """Together, in the order of a row array, among all rows, in a what-if world, and one by one."""
    rows = row_array(sorted(expected, reverse=True))
    assert plugin.score(state, view, rows).tolist() == [expected[row] for row in rows.tolist()]
    for world in (view, view.what_if()):
        for all_rows in (ALL_ROWS, every_row(view.nodes.count)):
            scores = plugin.score(state, world, all_rows)
            assert {row: scores.item(row) for row in expected} == expected
    for row, score in expected.items():
        assert plugin.score(state, view, row_array([row])).tolist() == [score]
