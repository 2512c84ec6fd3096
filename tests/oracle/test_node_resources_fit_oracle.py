"""NodeResourcesFit against a node-by-node count on the plain objects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.resource_clusters import (
    BASIC,
    GPU,
    SCALARS,
    Cluster,
    check_scores,
    clusters,
    names_subset,
    offered,
    on_node,
    pods,
    requests,
    row_of,
    taken,
    view_of,
)
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeResourcesFitArgs,
    ResourceWeight,
    ScoringStrategy,
    ShapePoint,
)
from bayplan.core.framework.verdict import SUCCESS, Status, unresolvable, unschedulable
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.pod import Pod

pytestmark = pytest.mark.usefixtures("either_way")

# ---------------------------------------------------------------- the slow, obvious version


def fit_status(on: Node, there: list[Pod], wanted: Pod, args: NodeResourcesFitArgs) -> Status:
    reasons, hopeless = [], False
    if len(there) + 1 > int(on.status.allocatable.get("pods", 0)):
        reasons.append("Too many pods")
    for name in (*BASIC, *sorted(SCALARS)):
        if name in args.ignored_resources or name.split("/")[0] in args.ignored_resource_groups:
            continue
        asked = requests(wanted, name, supposed=False)
        if asked > 0 and asked > offered(on, name) - taken(there, name):
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or asked > offered(on, name)
    if not reasons:
        return SUCCESS
    return unresolvable(*reasons) if hopeless else unschedulable(*reasons)


def line(points: list[tuple[int, int]], utilization: int) -> int:
    for i, (u, s) in enumerate(points):
        if utilization <= u:
            if i == 0:
                return s
            u0, s0 = points[i - 1]
            return s0 + math.trunc((s - s0) * (utilization - u0) / (u - u0))
    return points[-1][1]


def fit_score(on: Node, there: list[Pod], wanted: Pod, strategy: ScoringStrategy) -> int:
    total, weights = 0, 0
    for resource in strategy.resources:
        name = resource.name
        asked = requests(wanted, name, supposed=True)
        if name in SCALARS and not asked:
            continue
        capacity = offered(on, name)
        if capacity == 0:
            continue
        needed = taken(there, name, supposed=True) + asked
        if strategy.type == LEAST_ALLOCATED:
            score = 0 if needed > capacity else (capacity - needed) * 100 // capacity
        elif strategy.type == MOST_ALLOCATED:
            score = min(needed, capacity) * 100 // capacity
        else:
            points = [(point.utilization, point.score * 10) for point in strategy.shape]
            score = line(points, 100 if needed > capacity else needed * 100 // capacity)
            if score == 0:
                continue
        total += score * resource.weight
        weights += resource.weight
    if weights == 0:
        return 0
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        return math.floor(total / weights + 0.5)
    return total // weights


# ---------------------------------------------------------------- random arguments

shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=4, unique_by=lambda point: point[0]
).map(sorted)


@st.composite
def strategies(draw: st.DrawFn) -> ScoringStrategy:
    return ScoringStrategy(
        draw(st.sampled_from([LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO])),
        tuple(ResourceWeight(name, draw(st.integers(1, 7))) for name in draw(names_subset)),
        tuple(ShapePoint(*point) for point in draw(shapes)),
    )


# ---------------------------------------------------------------- the comparison

ignoring = st.builds(
    NodeResourcesFitArgs,
    ignored_resources=st.sampled_from([frozenset(), frozenset({GPU})]),
    ignored_resource_groups=st.sampled_from([frozenset(), frozenset({"example.com"})]),
)


def check_filter(plugin: NodeResourcesFit, info: PodInfo, view: View, cluster: Cluster, wanted: Pod) -> None:
    state = plugin.pre_filter(info, view).state
    codes = plugin.filter(state, view, ALL_ROWS)
    for on in cluster[0]:
        row = row_of(view, on)
        code = int(codes[row])
        found = plugin.explain_failure(state, view, code) if code else SUCCESS
        assert found == fit_status(on, on_node(cluster[1], on.metadata.name), wanted, plugin.args)
    backwards = np.arange(view.nodes.count)[::-1]
    assert plugin.filter(state, view, backwards).tolist() == codes[::-1].tolist()


@examples(150)
@given(cluster=clusters(), wanted=pods("wanted"), args=ignoring)
def test_filter_is_the_oracles(cluster: Cluster, wanted: Pod, args: NodeResourcesFitArgs) -> None:
    """Every node fails for the reasons found by counting its pods, alone or among all rows."""
    info, view = view_of(cluster, wanted)
    check_filter(NodeResourcesFit(args, gates=DEFAULT_GATES), info, view, cluster, wanted)


@examples(100)
@given(cluster=clusters(), wanted=pods("wanted"), data=st.data())
def test_what_if_is_the_cluster_with_the_pods_moved(cluster: Cluster, wanted: Pod, data: st.DataObject) -> None:
    """Taking pods away in a what-if view gives what a cluster without them gives."""
    gone = [made for made in cluster[1] if data.draw(st.booleans(), label=made.metadata.name)]
    info, view = view_of(cluster, wanted)
    changed = view.what_if()
    pod_rows = row_array([view.pods.rows_by_key[f"default/{made.metadata.name}"] for made in gone])
    changed.usage.shift(view.pods, pod_rows, view.pods.node_rows[pod_rows].astype(np.intp), -1)
    left = (cluster[0], [made for made in cluster[1] if made not in gone])
    check_filter(NodeResourcesFit(gates=DEFAULT_GATES), info, changed, left, wanted)


@examples(120)
@given(cluster=clusters(), wanted=pods("wanted"), strategy=strategies())
def test_scores_are_the_oracles(cluster: Cluster, wanted: Pod, strategy: ScoringStrategy) -> None:
    """Each strategy gives every node the score found by counting its pods."""
    info, view = view_of(cluster, wanted)
    plugin = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy), gates=DEFAULT_GATES)
    expected = {
        row_of(view, on): fit_score(on, on_node(cluster[1], on.metadata.name), wanted, strategy) for on in cluster[0]
    }
    state = plugin.pre_score(info, view, row_array(list(expected)))
    check_scores(plugin, state, view, expected)
