"""Every table has a column for every resource, no matter who named it first or what happened in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder


def asking(resource: str) -> PodBuilder:
    return pod("of-" + resource.replace("/", "-")).request({resource: "0"})


#: Who may be the first to name a resource.
NAMED_BY: dict[str, Callable[[Cache, str], object]] = {
    "a running pod": lambda cache, resource: cache.add(asking(resource).node("n").obj()),
    "a nominated pod": lambda cache, resource: cache.nominate(asking(resource).obj(), "n"),
    "a gated pod": lambda cache, resource: cache.info(asking(resource).gate("wait").obj()),
    "a joining node": lambda cache, resource: cache.add(node(resource).capacity({"cpu": "1", resource: "4"}).obj()),
}


@pytest.mark.parametrize("second", NAMED_BY)
@pytest.mark.parametrize("first", NAMED_BY)
def test_a_pod_leaves_after_resources_were_named_for_the_first_time(first: str, second: str) -> None:
    cache = Cache(gates=DEFAULT_GATES)
    cache.add(node("n").capacity(cpu="8", memory="8Gi", pods=10).obj())
    cache.add(pod("a").cpu("1").node("n").obj())
    NAMED_BY[first](cache, "example.com/one")
    NAMED_BY[second](cache, "example.com/two")
    cache.remove_pod("default/a")
    row = cache.nodes.rows_by_name["n"]
    assert cache.nodes.requested[row].tolist() == [0] * len(cache.resources)
    assert cache.nodes.pod_counts[row] == [first, second].count("a running pod")


@pytest.mark.parametrize("named_by", NAMED_BY)
def test_all_tables_are_as_wide_as_there_are_resources(named_by: str) -> None:
    cache = Cache(gates=DEFAULT_GATES)
    NAMED_BY[named_by](cache, "example.com/one")
    widths = [table.shape[1] for table in (cache.nodes.allocatable, cache.nodes.requested, cache.pods.requests)]
    assert widths == [len(cache.resources)] * 3
