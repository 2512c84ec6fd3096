"""Pods nominated to nodes: by node, and as arrays that follow pods and nodes."""

from __future__ import annotations

from random import Random

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.testing.builders import node, pod


def rows_of(cache: Cache) -> list[tuple[str, str]]:
    pod_rows, node_rows = cache.nominated.rows(cache.nodes)
    return [(cache.pods.keys[p], cache.nodes.names[n]) for p, n in zip(pod_rows, node_rows, strict=True)]


def test_arrays_follow_nominations() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    for name in ("n1", "n2"):
        cache.add_node(node(name).obj())
    for name, where in (("a", "n2"), ("b", "n1"), ("c", "n2")):
        cache.nominate(pod(name).obj(), where)
    assert rows_of(cache) == [("default/a", "n2"), ("default/b", "n1"), ("default/c", "n2")]
    cache.remove_pod("default/a")
    assert rows_of(cache) == [("default/b", "n1"), ("default/c", "n2")]
    cache.remove_pod("default/c")
    assert list(cache.nominated) == ["n1"]


def test_arrays_follow_nodes_that_come_and_go() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    cache.nominate(pod("a").obj(), "n1")
    assert rows_of(cache) == []
    cache.add_node(node("n1").obj())
    assert rows_of(cache) == [("default/a", "n1")]
    cache.remove_node("n1")
    assert rows_of(cache) == []
    cache.add_node(node("n0").obj())
    cache.add_node(node("n1").obj())
    assert rows_of(cache) == [("default/a", "n1")]


def test_arrays_that_follow_are_those_that_are_made_anew() -> None:
    draw = Random(1)
    cache = Cache(gates=DEFAULT_GATES)
    for name in ("n0", "n1", "n2"):
        cache.add_node(node(name).obj())
    nominated: dict[str, str] = {}
    for _ in range(300):
        for _ in range(draw.choice((1, 1, 2, 20))):  # decisions see one change, or many
            name, where = f"p{draw.randrange(12)}", f"n{draw.randrange(4)}"  # n3 does not exist
            if f"default/{name}" in nominated:
                cache.remove_pod(f"default/{name}")
                del nominated[f"default/{name}"]
            else:
                cache.nominate(pod(name).obj(), where)
                nominated[f"default/{name}"] = where
        assert rows_of(cache) == [(key, where) for key, where in nominated.items() if where != "n3"]
