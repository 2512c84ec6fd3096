"""NodeResourcesBalancedAllocation against upstream's formula, node by node on the plain objects."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.resource_clusters import (
    BASIC,
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

from bayplan.core.columns import row_array
from bayplan.core.framework.args import NodeResourcesBalancedAllocationArgs, ResourceWeight
from bayplan.core.framework.contract import Skip
from bayplan.core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from bayplan.model.node import Node
from bayplan.model.pod import Pod

pytestmark = pytest.mark.usefixtures("either_way")


def balance(used: list[float], capacities: list[float]) -> int:
    shares = [min(1.0, u / c) for u, c in zip(used, capacities, strict=True)]
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean = 0.0
        for share in shares:
            mean += share
        mean /= len(shares)
        squares = 0.0
        for share in shares:
            squares = squares + (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)


def balanced_score(on: Node, there: list[Pod], wanted: Pod, names: list[str]) -> int:
    counted = [
        name for name in names if offered(on, name) and (name in BASIC or requests(wanted, name, supposed=False))
    ]
    capacities = [float(offered(on, name)) for name in counted]
    before = [taken(there, name) for name in counted]
    after = [taken(there, name) + requests(wanted, name, supposed=False) for name in counted]
    change = balance([float(a) for a in after], capacities) - balance([float(b) for b in before], capacities)
    return 50 + (50 + change) // 2


@examples(120)
@given(cluster=clusters(), wanted=pods("wanted"), names=st.just(["cpu", "memory"]) | names_subset)
def test_balance_is_the_oracles(cluster: Cluster, wanted: Pod, names: list[str]) -> None:
    """Every node gets the score of upstream's formula, also where it lacks some resources."""
    info, view = view_of(cluster, wanted)
    args = NodeResourcesBalancedAllocationArgs(tuple(ResourceWeight(name) for name in names))
    plugin = NodeResourcesBalancedAllocation(args)
    expected = {
        row_of(view, on): balanced_score(on, on_node(cluster[1], on.metadata.name), wanted, names) for on in cluster[0]
    }
    state = plugin.pre_score(info, view, row_array(list(expected)))
    if isinstance(state, Skip):
        assert all(requests(wanted, name, supposed=False) == 0 for name in names)
        return
    assert any(requests(wanted, name, supposed=False) for name in names)
    check_scores(plugin, state, view, expected)
