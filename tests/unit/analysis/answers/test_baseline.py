"""A cache is put back as it was."""

from __future__ import annotations

from tests.support import cache_of

from bayplan.analysis.answers.baseline import Baseline
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing import builders as make

OBJECTS: list[Object] = [
    *(make.node(name).obj() for name in ("a", "b")),
    *(make.pod(f"p{n}").cpu("1").running("a").obj() for n in range(4)),
    *(make.pod(f"w{n}").priority(n).nominated("b").obj() for n in range(2)),
    make.claim("c").obj(),
]


def state(cache: Cache) -> object:
    keys = cache.pods.keys
    on_node = {
        name: [keys[pod_row] for pod_row in cache.nodes.pod_rows[row]] for name, row in cache.nodes.rows_by_name.items()
    }
    nominated = {name: [keys[row] for row in rows] for name, rows in cache.nominated.items()}
    requested = {name: cache.nodes.requested[row].tolist() for name, row in cache.nodes.rows_by_name.items()}
    return on_node, nominated, requested, dict(cache.objects.claims), cache.nodes.alive_count


def trial() -> tuple[Cache, Baseline, object]:
    cache = cache_of(*OBJECTS)
    pods = {f"default/{pod.metadata.name}": pod for pod in OBJECTS if isinstance(pod, Pod)}
    nodes = {node.metadata.name: node for node in OBJECTS if isinstance(node, Node)}
    return cache, Baseline(cache, pods, nodes), state(cache)


def test_pods_come_back_in_their_order() -> None:
    cache, baseline, before = trial()
    cache.remove_pod("default/p0")
    cache.remove_pod("default/p2")
    cache.add_pod(make.pod("new").cpu("1").obj(), "a")
    assert state(cache) != before
    baseline.restore(["a"])
    assert state(cache) == before


def test_a_node_that_went_comes_back_and_a_new_one_goes() -> None:
    cache, baseline, before = trial()
    for key in baseline.on_node("a"):
        cache.remove_pod(key)
    cache.remove_node("a")
    cache.add_node(make.node("new").obj())
    cache.add_pod(make.pod("x").obj(), "new")
    baseline.restore(["a", "new"])
    assert state(cache) == before


def test_nominations_and_claims() -> None:
    cache, baseline, before = trial()
    cache.remove_pod("default/w0")
    cache.add(make.claim("c").bound("v").obj())
    cache.add(make.claim("other").obj())
    baseline.restore([])
    assert state(cache) == before
