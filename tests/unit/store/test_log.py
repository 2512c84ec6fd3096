"""The watch log: order, cursors, and what happens to those who lag behind."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.workloads import ReplicaSet
from bayplan.store import Gone, Store, Timeout, WatchEvent, WatchLog
from bayplan.testing.builders import deployment, node, pod, replica_set


def change(version: int) -> WatchEvent:
    return WatchEvent("ADDED", "Node", None, Node(), version, at=0)


def filled(count: int, capacity: int) -> WatchLog:
    log = WatchLog(capacity)
    for version in range(1, count + 1):
        log.append(change(version))
    return log


def versions(changes: list[WatchEvent]) -> list[int]:
    return [one.resource_version for one in changes]


def test_cursors_read_on_from_where_they_are() -> None:
    store = Store()
    early = store.watch()
    store.create(node("n1").manifest().obj(), 0)
    pods = store.watch(Pod)
    store.create(pod("a").manifest().obj(), 0)
    store.create(node("n2").manifest().obj(), 0)
    assert versions(early.read()) == [1, 2, 3]
    assert early.read() == []
    assert (pods.behind, versions(pods.read()), pods.behind) == (True, [2], False)
    assert versions(store.watch("Node", Pod, since=1).read()) == [2, 3]


def test_a_cursor_moves_past_what_others_wrote() -> None:
    """A watcher of a quiet kind can start again from it without listing."""
    store = Store(log_capacity=4)
    nodes = store.watch(Node)
    for number in range(30):
        store.create(pod(f"p{number}").manifest().obj(), 0)
        assert nodes.read() == []
    assert nodes.resource_version == 30
    store.create(node("n1").manifest().obj(), 0)
    assert versions(store.watch(Node, since=nodes.resource_version).read()) == [31]


def test_who_lags_behind_must_list_again() -> None:
    """The real server's words, and again at every try until a new cursor is taken."""
    store = Store(log_capacity=4)
    lagging = store.watch()
    for number in range(10):
        store.create(pod(f"p{number}").manifest().obj(), 0)
    expired = store.log.expired
    for _ in range(2):
        with pytest.raises(Gone) as refused:
            lagging.read()
        assert str(refused.value) == f"too old resource version: 0 ({expired})"
        assert (refused.value.code, refused.value.reason) == (410, "Expired")
    objects, version, cursor = store.list_and_watch(Pod)
    assert (len(objects), version, cursor.read()) == (10, 10, [])
    assert versions(store.watch(since=expired).read()) == [*range(expired + 1, 11)]
    with pytest.raises(Gone):
        store.watch(since=expired - 1).read()


def test_versions_still_to_come() -> None:
    store = Store()
    with pytest.raises(Timeout, match=r"^Timeout: Too large resource version: 5, current: 0$"):
        store.watch(since=5)
    with pytest.raises(Timeout):
        store.log.since(1)


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 5, 100])
def test_the_log_keeps_at_least_its_capacity_and_not_much_more(capacity: int) -> None:
    log = WatchLog(capacity)
    for version in range(1, 300):
        log.append(change(version))
        assert min(version, capacity) <= len(log) <= capacity + capacity // 4
        assert log.expired + len(log) == log.resource_version == version
        assert versions(log.since(log.expired)) == [*range(log.expired + 1, version + 1)]


def test_writes_can_be_made_to_expire() -> None:
    log = filled(10, 100)
    log.expire(6)
    log.expire(7)
    log.expire(3)
    assert (log.expired, versions(log.since(7))) == (7, [8, 9, 10])
    log.expire(99)
    assert (log.expired, log.since(10)) == (10, [])
    log.append(change(11))
    assert versions(log.since(10)) == [11]


def test_nothing_falls_off_before_essential_cursors_have_read_it() -> None:
    """However much is written at once; others are told that they lag behind, as soon as everything was read."""
    log = WatchLog(4)
    cursor, other, lagging = log.cursor(essential=True), log.cursor(kinds=["Pod"], essential=True), log.cursor()
    for version in range(1, 101):
        log.append(change(version))
    log.expire(50)
    assert (log.expired, versions(cursor.read())) == (0, [*range(1, 101)])
    log.expire(50)
    assert (log.expired, other.read()) == (0, [])
    for version in range(101, 104):
        log.append(change(version))
    assert (len(log) <= 8, versions(cursor.read())) == (True, [101, 102, 103])
    with pytest.raises(Gone):
        lagging.read()
    for version in range(104, 300):
        log.append(change(version))
        cursor.read()
        other.read()
        assert len(log) <= 5


def test_a_dropped_cursor_keeps_nothing() -> None:
    log = WatchLog(4)
    cursor = log.cursor(essential=True)
    del cursor
    for version in range(1, 101):
        log.append(change(version))
    assert len(log) <= 5


def test_versions_follow_one_another() -> None:
    with pytest.raises(AssertionError):
        filled(3, 10).append(change(5))


def test_list_and_watch_meet_without_gap_or_overlap() -> None:
    store = Store()
    store.load([node("n1").obj(), pod("a").obj(), deployment("web").obj()], 0)
    objects, version, cursor = store.list_and_watch(Pod, "Node")
    assert [one.metadata.name for one in objects] == ["a", "n1"]
    assert version == 3
    store.delete(Pod, "default", "a", 0)
    store.create(deployment("other").manifest().obj(), 0)
    assert [one.type for one in cursor.read()] == ["MODIFIED", "DELETED"]
    assert len(store.list_and_watch().objects) == 3


def test_indices_follow_nodes_and_owners() -> None:
    """By node and by owner, in order of arrival, and nothing stays behind."""
    store = Store()
    owner = store.create(replica_set("web").manifest().obj(), 0)
    other = store.create(replica_set("other").manifest().obj(), 0)
    for name in ("a", "b"):
        store.create(pod(name).manifest().owner(owner).obj(), 0)
        store.bind("default", name, "n1", "", 0)
    assert [one.metadata.name for one in store.pods_on_node("n1")] == ["a", "b"]
    assert store.owned_by(owner.metadata.uid) == store.list(Pod, "default")

    def with_owners(*owners: ReplicaSet) -> Callable[[Pod], Pod]:
        references = [pod("x").owner(one).obj().metadata.owner_references[0] for one in owners]
        return lambda one: replace(one, metadata=replace(one.metadata, owner_references=references))

    for owners in ((owner, other), (other, other)):
        store.modify(Pod, "default", "a", with_owners(*owners), 0)
        owned = [one.metadata.name for one in store.owned_by(owner.metadata.uid)]
        assert owned == (["a", "b"] if owner in owners else ["b"])
        assert [one.metadata.name for one in store.owned_by(other.metadata.uid)] == ["a"]
    for name in ("a", "b"):
        store.delete(Pod, "default", name, 0, grace_seconds=0)
    assert store.pods_on_node("n1") == store.owned_by(owner.metadata.uid) == store.owned_by(other.metadata.uid) == []
    assert store.count(Pod) == 0


def test_lists_by_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "x"), ("a", "y"), ("a", "x")):
        store.create(pod(name, namespace).manifest().obj(), 0)
    assert [(one.metadata.namespace, one.metadata.name) for one in store.list(Pod)] == [
        ("x", "b"),
        ("x", "a"),
        ("y", "a"),
    ]
    assert [one.metadata.name for one in store.list("Pod", "x")] == ["b", "a"]
    assert store.list(Pod, "nowhere") == []


def test_what_is_deleted_leaves_nothing_behind() -> None:
    """Names, nodes, namespaces and owners that have gone take no memory."""
    store = Store(log_capacity=50)

    def churn(first: int) -> int:
        for number in range(first, first + 300):
            name, space = f"p{number}", f"ns{number}"
            owner = store.create(replica_set(name, space).manifest().obj(), 0)
            store.create(pod(name, space).manifest().owner(owner).obj(), 0)
            store.bind(space, name, f"n{number}", "", 0)
            store.delete(Pod, space, name, 0, grace_seconds=0)
            store.delete(ReplicaSet, space, name, 0)
            assert len(store.log) <= 62
        store.log.expire(store.resource_version)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = churn(0)
        # An empty dict left behind for each of the 300 would be more than this.
        assert churn(300) - before < 300 * 32
    finally:
        tracemalloc.stop()
