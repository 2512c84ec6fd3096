"""After a trial a cache is as it was."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.support.caches import cache_of, content_of

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import Port
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.testing import builders as make

OBJECTS: list[Object] = [
    *(
        make.node(name)
        .zone("east" if name < "c" else "west")
        .image(f"i-{name}", size_bytes=10**8)
        .taint(f"t-{name}", "yes", effect="PreferNoSchedule")
        .declares("SomeFeature")
        .obj()
        for name in "abcd"
    ),
    make.node("cordoned").unschedulable().taint("t").obj(),
    *(make.pod(f"p{n}").cpu("1").running("a").obj() for n in range(4)),
    *(make.pod(f"w{n}").priority(n).nominated("b").obj() for n in range(3)),
    *(make.pod(f"h{n}").port(80).running("c").obj() for n in range(2)),
    make.pod("v").claim("c").running("d").obj(),
    make.claim("c").obj(),
]


def swap_pods(cache: Cache) -> None:
    cache.remove_pod("default/p0")
    cache.remove_pod("default/p2")
    cache.add_pod(make.pod("p0").cpu("2").obj(), "a")
    cache.remove_pod("default/p0")


def fail_a_node(cache: Cache) -> None:
    for number in range(4):
        cache.remove_pod(f"default/p{number}")
    cache.remove_node("a")
    cache.add_pod(make.pod("p0").cpu("2").obj(), "b")


def fail_a_node_twice(cache: Cache) -> None:
    fail_a_node(cache)
    fail_a_node(cache)


def fail_a_node_under_its_pods(cache: Cache) -> None:
    cache.remove_node("a")


def fail_a_cordoned_node(cache: Cache) -> None:
    cache.remove_node("cordoned")


def change_specs(cache: Cache) -> None:
    """A cordon and another taint for a node, neither for another."""
    for name, made in (("b", make.node("b").unschedulable().taint("other")), ("cordoned", make.node("cordoned"))):
        built = made.obj()
        before = next(each for each in OBJECTS if isinstance(each, Node) and each.metadata.name == name)
        cache.add(msgspec.structs.replace(before, spec=built.spec))


def add_a_node(cache: Cache) -> None:
    cache.add_node(make.node("aa").image("i-a", size_bytes=5).obj())
    cache.add_pod(make.pod("x").obj(), "aa")
    cache.view().nodes.name_ranks()


def change_nominations(cache: Cache) -> None:
    cache.remove_pod("default/w1")
    cache.nominate(make.pod("x").obj(), "b")


def write_claims(cache: Cache) -> None:
    cache.add(make.claim("c").bound("v").obj())
    cache.add(make.claim("other").obj())


def delete_objects(cache: Cache) -> None:
    cache.objects.remove(make.claim("c").obj())
    cache.add(make.claim("c").bound("v").obj())
    cache.objects.remove(make.claim("c").obj())


def free_a_port_that_two_hold(cache: Cache) -> None:
    cache.remove_pod("default/h0")
    cache.remove_pod("default/h1")


@pytest.mark.parametrize(
    "change",
    [
        swap_pods,
        fail_a_node,
        fail_a_node_under_its_pods,
        fail_a_cordoned_node,
        change_specs,
        add_a_node,
        change_nominations,
        write_claims,
        delete_objects,
        free_a_port_that_two_hold,
    ],
)
def test_what_is_done_is_undone(change: Callable[[Cache], None]) -> None:
    cache = cache_of(*OBJECTS)
    before = content_of(cache)
    for _ in range(2):
        with cache.trial():
            change(cache)
            assert content_of(cache) != before
        assert content_of(cache) == before


def test_an_error_ends_a_trial() -> None:
    cache = cache_of(*OBJECTS)
    before = content_of(cache)
    with pytest.raises(KeyError), cache.trial():
        fail_a_node_twice(cache)
    assert content_of(cache) == before


def test_a_port_that_was_free_before_stays_free() -> None:
    """Upstream keeps a set: one of two holders that goes frees the port."""
    cache = cache_of(*OBJECTS)
    cache.remove_pod("default/h0")
    row, port = cache.nodes.rows_by_name["c"], Port("TCP", 80, "0.0.0.0")
    with cache.trial():
        cache.remove_pod("default/h1")
    assert not cache.ports.is_held(port, row)


def test_a_row_that_is_put_back_has_the_version_it_had() -> None:
    cache = cache_of(*OBJECTS)
    before = list(cache.nodes.versions)
    with cache.trial():
        cache.remove_pod("default/p0")
        first = list(cache.nodes.versions)
    assert cache.nodes.versions == before
    with cache.trial():
        cache.remove_pod("default/p1")
        assert first != before != cache.nodes.versions != first


def test_a_trial_inside_another_undoes_its_own_part() -> None:
    cache = cache_of(*OBJECTS)
    before = content_of(cache)
    with cache.trial():
        swap_pods(cache)
        halfway = content_of(cache)
        for change in (change_nominations, write_claims, free_a_port_that_two_hold):
            with cache.trial():
                change(cache)
                assert content_of(cache) != halfway
            assert content_of(cache) == halfway
        cache.add_pod(make.pod("late").obj(), "a")
    assert content_of(cache) == before


def test_logs_and_ranks_are_where_they_were() -> None:
    cache = cache_of(*OBJECTS)
    nodes = cache.nodes
    logs = (nodes.spec_changes, nodes.usage_changes, nodes.importance_changes)
    seen, ranks = [log.position for log in logs], nodes.ranks.version
    with cache.trial():
        fail_a_node(cache)
    assert nodes.ranks.version == ranks
    for log, position in zip(logs, seen, strict=True):
        rows = log.since(position)
        assert rows is not None
        assert rows.tolist() == []


def test_a_trial_goes_on_after_one_inside_it() -> None:
    """What is done after the inner trial is undone with the outer one, down to the versions and the logs."""
    cache = cache_of(*OBJECTS)
    nodes, before = cache.nodes, list(cache.nodes.versions)
    seen = nodes.usage_changes.position
    with cache.trial():
        with cache.trial():
            cache.remove_pod("default/p0")
        cache.remove_pod("default/p1")
        assert nodes.versions != before
    assert nodes.versions == before
    assert nodes.usage_changes.since(seen).tolist() == []  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "node"),
    [
        (lambda cache: cache.remove_pod("default/w1"), "b"),
        (lambda cache: cache.nominate(make.pod("x").obj(), "b"), "b"),
        (lambda cache: cache.remove_pod("default/p0"), "a"),
        (lambda cache: cache.add_pod(make.pod("x").obj(), "a"), "a"),
    ],
)
def test_the_log_of_a_trial_knows_what_one_inside_it_took_back(change: Callable[[Cache], None], node: str) -> None:
    cache = cache_of(*OBJECTS)
    row, log = cache.nodes.rows_by_name[node], cache.nodes.usage_changes
    with cache.trial():
        with cache.trial():
            change(cache)
            halfway = log.position  # somebody has looked at the node as it is now
        assert row in log.since(halfway)  # type: ignore[operator]


def test_a_pod_that_is_brought_back_in_a_trial_leaves_with_it() -> None:
    """A trial inside another one that brings a pod back undoes that alone: outside, the pod is still gone."""
    cache = cache_of(*OBJECTS)
    before = content_of(cache)
    row, node_row = cache.pods.rows_by_key["default/p1"], cache.nodes.rows_by_name["a"]
    with cache.trial():
        cache.remove_row(row)
        without = content_of(cache)
        with cache.trial():
            cache.bring_back(row, node_row)
            assert "default/p1" in cache.pods.rows_by_key
        assert content_of(cache) == without
        assert cache.row_on_a_node("default/p1") is None
    assert content_of(cache) == before


@pytest.mark.parametrize("change", [fail_a_node, change_specs, add_a_node])
def test_a_cache_goes_on_after_a_trial_as_if_there_had_been_none(change: Callable[[Cache], None]) -> None:
    tried, plain = cache_of(*OBJECTS), cache_of(*OBJECTS)
    with tried.trial():
        change(tried)
    for cache in (tried, plain):
        fail_a_node(cache)
        cache.remove_node("b")
    assert content_of(tried) == content_of(plain)


def test_a_pod_that_was_taken_out_is_on_no_node() -> None:
    cache = cache_of(*OBJECTS)
    row = cache.pods.rows_by_key["default/p0"]
    with cache.trial():
        cache.remove_row(row)
        assert cache.view().pods.node_rows[row] < 0
    assert cache.view().pods.node_rows[row] == cache.nodes.rows_by_name["a"]
