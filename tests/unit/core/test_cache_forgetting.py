"""A cache forgets what no node or pod uses any more, and what comes later under a reused id is not taken for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.preemption_attempts import default_profile
from tests.support.vocabularies import vocabularies, worked_out

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import counters as counters_module
from bayplan.core.columns.labels import COLUMNS_MAX
from bayplan.core.deciding import GONE_MAX, Decider
from bayplan.core.decision import Fits, NeedsPreemption
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

HOST = "kubernetes.io/hostname"


def rich_node(name: str) -> Node:
    built = node(name).capacity({f"example.com/{name}": "1"}, cpu="8", memory="8Gi", pods=10).label(HOST, name)
    return built.taint("going", name, "PreferNoSchedule").image(f"i/{name}:1", size_bytes=1).declares(name).obj()


def rich_pod(name: str) -> PodBuilder:
    own = {"job": name}
    return (
        pod(name).labels(own).request({f"example.com/of-{name}": "0"}).port(host=8000 + len(name))
        .pod_anti_affinity(HOST, own).spread(HOST, own)
    )  # fmt: skip


def decided(cache: Cache, decider: Decider, wanted: Pod) -> str:
    info = cache.info(wanted)
    choice = decider.decide(info, cache.view())
    assert isinstance(choice, Fits)
    name = cache.nodes.names[choice.row]
    cache.add_pod(wanted, name, info)
    return name


def test_nothing_is_left_of_pods_and_nodes_that_are_gone() -> None:
    empty, cache = Cache(gates=DEFAULT_GATES), Cache(gates=DEFAULT_GATES)
    decider = Decider({"default-scheduler": default_profile()})
    for turn in range(3):
        names = [f"n{turn}{number}" for number in range(3)]
        for name in names:
            cache.add(rich_node(name))
        pods = [rich_pod(f"p{turn}{number}").obj() for number in range(4)]
        for each in pods[:3]:
            decided(cache, decider, each)
        cache.nominate(pods[3], names[0])
        for each in pods:
            cache.remove_pod(f"default/{each.metadata.name}")
        for name in names:
            cache.remove_node(name)
        assert vocabularies(cache) == vocabularies(empty)
        assert not any(worked_out(cache).values())


@pytest.mark.parametrize("kind", ["taints", "features", "label", "size"])
def test_another_node_with_a_reused_id_is_not_taken_for_the_one_before(kind: str) -> None:
    """The kept answers are those for the node that was there."""
    looks: dict[str, Callable[[str], Node]] = {
        "taints": lambda value: node("n").capacity(cpu="8", pods=9).taint("key", value).obj(),
        "features": lambda value: node("n").capacity(cpu="8", pods=9).declares(value).obj(),
        "label": lambda value: node("n").capacity(cpu="8", pods=9).label("key", value).obj(),
        "size": lambda value: node("n").capacity(cpu=value, pods=9).obj(),
    }
    wants: dict[str, PodBuilder] = {
        "taints": pod("p").cpu("1").tolerates("key", "2"),
        "features": pod("p").cpu("1"),
        "label": pod("p").cpu("1").node_selector(key="2"),
        "size": pod("p").cpu("2"),
    }
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    waiting = cache.info(wants[kind].obj())
    fits = []
    for value in ("1", "2", "1", "2"):
        cache.add(looks[kind](value))
        fits.append(isinstance(decider.decide(waiting, cache.view()), Fits))
    assert fits == ([True] * 4 if kind == "features" else [False, True, False, True])


def test_a_resource_column_that_is_reused_starts_empty() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    cache.add(node("a").capacity({"example.com/one": "4"}, cpu="8", pods=9).obj())
    cache.add(pod("p").request({"example.com/one": "3"}).node("a").obj())
    column = cache.resources.find("example.com/one")
    cache.remove_pod("default/p")
    cache.remove_node("a")
    cache.view()
    cache.add(node("b").capacity({"example.com/two": "2"}, cpu="8", pods=9).obj())
    assert cache.resources.find("example.com/two") == column
    row = cache.nodes.rows_by_name["b"]
    assert (cache.nodes.allocatable[row, column], cache.nodes.requested[row, column]) == (2, 0)


def test_a_decider_forgets_answers_for_kinds_of_pods_that_are_gone() -> None:
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    cache.add(node("n").capacity(cpu="8", pods=9).label("disk", "ssd").obj())
    kept = []
    for kind in range(8 * GONE_MAX):
        picky = pod("p").cpu(f"{kind + 1}m").node_affinity(f"disk notin (d{kind})").obj()
        waiting = cache.info(picky)  # and those before it are gone
        for _ in range(2):  # of the first of its kind little is kept
            assert isinstance(decider.decide(waiting, cache.view()), Fits)
        kept.append((len(decider._answers), len(decider._seen) + len(decider._seen_before)))
    assert kept[0] == (3, 2)
    # What was asked for lately stays a little longer: other pods may look alike to plugins.
    assert max(kept) <= (5 * (GONE_MAX + 2), 4 * (GONE_MAX + 2))


def test_a_decider_forgets_what_was_tried_for_a_preemptor_that_is_gone() -> None:
    """Another pod that asks for as much stays, and with it all that does not depend on labels."""
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    for name in "ab":
        cache.add(node(name).capacity(cpu="4", pods=9).label(HOST, name).obj())
        cache.add(pod(f"victim-{name}").cpu("4").node(name).obj())
    cache.add(pod("apart").labels(job="apart").node("a").obj())
    picky = pod("goes").cpu("4").priority(9).pod_anti_affinity(HOST, {"job": "apart"}).obj()
    waiting = [cache.info(picky), cache.info(pod("stays").cpu("4").priority(9).obj())]
    for each in waiting:
        for _ in range(2):
            assert isinstance(decider.decide(each, cache.view()), NeedsPreemption)
    gone = waiting.pop(0).shape.serial
    del each
    for kind in range(2 * GONE_MAX):
        cache.info(pod("asks").cpu(f"{kind + 1}m").obj())
        decider.decide(waiting[0], cache.view())
    cache.view()
    assert not cache.shapes.has(gone)


def test_a_waiting_pod_keeps_its_shape() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    waiting = cache.info(rich_pod("waits").obj())
    for number in range(5):
        cache.info(rich_pod(f"goes-{number}").obj())
    cache.view()
    assert {shape.serial for shape in cache.shapes} == {waiting.shape.serial}
    assert cache.info(rich_pod("waits").obj()).shape is waiting.shape


def test_counters_that_had_to_go_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters_module, "COUNTS_BYTES_MAX", 3_000)  # room for one
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    for name in "ab":
        cache.add(node(name).capacity(cpu="8", memory="8Gi", pods=10).label(HOST, name).obj())
    placed: dict[str, set[str]] = {"x": set(), "y": set(), "z": set()}
    for turn in range(2):
        for job, nodes in placed.items():
            apart = pod(f"{job}-{turn}").labels(job=job).pod_anti_affinity(HOST, {"job": job})
            nodes.add(decided(cache, decider, apart.obj()))
    assert placed == {job: {"a", "b"} for job in "xyz"}


def test_the_label_columns_asked_for_last_are_kept() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    cache.add(node("a").label("zone", "one").obj())
    first = cache.nodes.labels.column("zone")
    version = first.version
    for number in range(COLUMNS_MAX):
        cache.nodes.labels.column(f"key-{number}")
    assert first.version > version  # whoever still has it looks again
    assert cache.nodes.labels.column("zone") is not first
    assert len(cache.nodes.labels.columns) == COLUMNS_MAX


def test_answers_follow_a_table_that_gets_shorter_while_pods_come() -> None:
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    for number in range(200):
        cache.add(node(f"n{number:03}").capacity(cpu="64", pods=99).obj())
    for number in reversed(range(10, 200)):
        decided(cache, decider, pod(f"p{number}").cpu("1").obj())
        cache.remove_pod(f"default/p{number}")
        cache.add(pod(f"keeps-{number}").cpu("1").node("n000").obj())
        cache.remove_pod(f"default/keeps-{number}")
        waiting = cache.info(pod("waits").cpu("1").obj())
        assert isinstance(decider.decide(waiting, cache.view()), Fits)
        cache.remove_node(f"n{number:03}")
        choice = decider.decide(waiting, cache.view())
        assert isinstance(choice, Fits)
        assert cache.nodes.names[choice.row] == "n000"
    assert cache.nodes.count < 100


def test_the_table_gets_shorter_when_most_nodes_have_left() -> None:
    cache, decider = Cache(gates=DEFAULT_GATES), Decider({"default-scheduler": default_profile()})
    for number in range(300):
        cache.add(node(f"n{number:03}").capacity(cpu="8", pods=9).label(HOST, f"n{number:03}").obj())
    cache.add(pod("runs").cpu("1").node("n010").obj())
    assert decided(cache, decider, pod("first").cpu("1").obj()) == "n000"
    for number in range(20, 300):
        cache.remove_node(f"n{number:03}")
    assert cache.nodes.count == 20
    room = [column if column.base is None else column.base for column in cache.nodes.arrays().values()]
    assert max(map(len, room)) < 100
    assert decided(cache, decider, pod("second").cpu("1").obj()) == "n001"
    for number in range(300, 320):
        cache.add(node(f"m{number}").capacity(cpu="8", pods=9).obj())
    assert cache.nodes.alive_count == cache.nodes.count == 40
    assert decided(cache, decider, pod("third").cpu("1").obj()) == "m300"
