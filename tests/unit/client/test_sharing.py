"""Objects that share their equal parts."""

from __future__ import annotations

import copy

import pytest

from bayplan.client import sharing
from bayplan.client.sharing import SharedParts
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod


def made(name: str) -> Pod:
    return pod(name).labels(app="web").request(cpu="1").obj()


def test_equal_parts_become_the_same() -> None:
    shared, one, other = SharedParts(), made("one"), made("other")
    for each in (one, other):
        before = copy.deepcopy(each)
        shared.share(each)
        assert each == before
    assert one.spec.containers is other.spec.containers
    assert one.metadata.labels is other.metadata.labels
    assert one.spec.overhead is other.spec.overhead
    assert one.spec.overhead is not other.metadata.labels


def test_parts_that_differ_stay_apart() -> None:
    shared, one, other = SharedParts(), made("one"), made("other")
    other.metadata.labels = {"app": "db"}
    for each in (one, other):
        shared.share(each)
    assert (one.metadata.labels, other.metadata.labels) == ({"app": "web"}, {"app": "db"})


def test_nodes_share_their_images() -> None:
    shared = SharedParts()
    one, other = (node(name).image("app:1", size_bytes=5).obj() for name in ("a", "b"))
    for each in (one, other):
        shared.share(each)
    assert one.status.images[0] is other.status.images[0]


def test_the_memory_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes again and again is not forgotten with the rest."""
    monkeypatch.setattr(sharing, "GENERATION_MAX", 10)
    shared, first = SharedParts(), made("first")
    shared.share(first)
    for number in range(50):
        each = made(f"p{number}")
        each.metadata.labels = {"number": str(number)}
        shared.share(each)
        assert each.metadata.labels == {"number": str(number)}
        assert each.spec.containers is first.spec.containers
    assert len(shared._parts) <= 20
    assert len(shared._texts) <= 20
