"""Fields of pools and of the autoscaler as axes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.node_pools import autoscaler, pool

import bayplan
from bayplan.analysis.sweeping.pool_settings import with_pool_settings
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.node_pools import Autoscaler, NodePool
from bayplan.testing.builders import deployment, pod

WEB = deployment("web").replicas(8).selects(app="web").template(pod("web").labels(app="web").cpu("1"))
OBJECTS: list[Object] = [pool("a"), pool("b", price=3.0), autoscaler(expander="price"), WEB.manifest().obj()]


def test_a_field_of_one_pool_changes() -> None:
    changed = with_pool_settings(OBJECTS, {"pool.a.max": 3, "pool.a.startTime": "5s", "autoscaler.unneededTime": "1m"})
    pools = {obj.metadata.name: obj.spec for obj in changed if isinstance(obj, NodePool)}
    assert (pools["a"].max, pools["a"].start_time) == (3, "5s")
    assert pools["b"] == pool("b", price=3.0).spec
    (found,) = [obj.spec for obj in changed if isinstance(obj, Autoscaler)]
    assert (found.unneeded_time, found.expander) == ("1m", "price")


def test_an_autoscaler_is_made_where_there_is_none() -> None:
    changed = with_pool_settings([pool("a")], {"autoscaler.mode": "karpenter"})
    assert [obj.spec.mode for obj in changed if isinstance(obj, Autoscaler)] == ["karpenter"]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"pool.aa.max": [1]}, r"axes\.pool\.aa\.max: there is no NodePool 'aa'"),
        ({"pool.a.maxx": [1]}, r"axes\.pool\.a\.maxx: spec\.maxx: unknown field; did you mean max"),
        ({"autoscaler.expand": ["price"]}, r"axes\.autoscaler\.expand: spec\.expand: unknown field"),
        ({"pool.a": [1]}, r"expected pool\.NAME\.FIELD"),
    ],
)
def test_what_does_not_exist_is_refused_before_the_first_run(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        bayplan.sweep(bayplan.Cluster(OBJECTS), {"seed": [1], **axes}, processes=1)


def test_a_value_that_cannot_be_is_an_error_of_its_runs() -> None:
    result = bayplan.sweep(bayplan.Cluster(OBJECTS), {"seed": [1], "pool.a.max": [0, 1]}, until="5m", processes=1)
    assert [bool(error) for error in result.table["error"]] == [True, False]
    assert "spec.max: 0 is not a number from 1" in result.table["error"][0]


def test_cost_and_sizes_are_figures() -> None:
    axes = {"seed": [1], "pool.a.max": [1, 2]}
    table = bayplan.sweep(bayplan.Cluster(OBJECTS), axes, until="30m", processes=1).table
    assert table["pools.a.most"].tolist() == [1, 2]
    assert table["cost"][0] > table["cost"][1]  # the other node is of the pool that costs three times as much
