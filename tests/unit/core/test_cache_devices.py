"""Devices count in scores where a class stands for a resource: nodes whose devices change are looked at again."""

from __future__ import annotations

import pytest
from tests.support import devices

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.model.resource_claims import ResourceSlice
from bayplan.testing.builders import node

RESOURCE = "example.com/device"


def cache_with(extended: str | None) -> Cache:
    cache = Cache(gates=DEFAULT_GATES)
    for name in ("n1", "n2", "n3"):
        cache.add_node(node(name).obj())
    cache.add(devices.device_class(extended=extended))
    cache.add(a_slice("n2"))
    return cache


def a_slice(name: str, count: int = 1) -> ResourceSlice:
    offered = [devices.device(f"d{number}") for number in range(count)]
    return devices.slice_of(name, *offered, name="slice", all_nodes=None if name else True)


def logged_by(cache: Cache, change: ResourceSlice, *, removed: bool = False) -> set[str]:
    log = cache.nodes.usage_changes
    before = log.position
    if removed:
        cache.objects.remove(change)
    else:
        cache.add(change)
    rows = log.since(before)
    assert rows is not None
    return {cache.nodes.names[row] for row in rows}


@pytest.mark.parametrize(
    ("change", "concerned"),
    [
        pytest.param(a_slice("n2", 2), {"n2"}, id="another device"),
        pytest.param(a_slice("n3"), {"n2", "n3"}, id="another node under the same name"),
        pytest.param(a_slice(""), {"n1", "n2", "n3"}, id="devices for every node"),
    ],
)
def test_nodes_of_a_changed_slice_are_logged(change: ResourceSlice, concerned: set[str]) -> None:
    assert logged_by(cache_with(RESOURCE), change) == concerned


def test_the_node_of_a_slice_that_goes_is_logged() -> None:
    assert logged_by(cache_with(RESOURCE), a_slice("n2"), removed=True) == {"n2"}


def test_nothing_is_logged_where_no_class_stands_for_a_resource() -> None:
    assert logged_by(cache_with(None), a_slice("n2", 2)) == set()


def test_the_node_whose_device_a_claim_gets_or_gives_back_is_logged() -> None:
    cache = cache_with(RESOURCE)
    log = cache.nodes.usage_changes
    held, free = (devices.claim_of("mine", devices.asks("r")) for _ in range(2))
    for change in (devices.held(held, "n2", "d0"), free):
        before = log.position
        cache.add(change)
        rows = log.since(before)
        assert rows is not None
        assert {cache.nodes.names[row] for row in rows} == {"n2"}


def test_all_nodes_are_looked_at_again_when_a_class_stands_for_another_resource() -> None:
    cache = cache_with(None)
    logs = cache.nodes.spec_changes, cache.nodes.usage_changes
    before = [log.position for log in logs]
    cache.add(devices.device_class(extended=RESOURCE))
    assert [log.since(position) for log, position in zip(logs, before, strict=True)] == [None, None]
