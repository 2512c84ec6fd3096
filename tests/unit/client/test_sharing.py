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
    monkeypatch.setattr(sharing, "LASTING_MAX", 10)
    shared, first = SharedParts(), made("first")
    shared.share(first)
    for number in range(50):
        each = made(f"p{number}")
        each.metadata.labels = {"number": str(number)}
        shared.share(each)
        assert each.metadata.labels == {"number": str(number)}
        assert each.spec.containers is first.spec.containers
    assert len(shared._lasting) <= 20
    assert len(shared._texts) <= 20


def test_parts_with_times_do_not_crowd_out_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that come second after second, all of one workload but for a single one that comes back at the end."""
    monkeypatch.setattr(sharing, "LASTING_MAX", 10)
    monkeypatch.setattr(sharing, "PASSING_MAX", 5)
    shared, rare = SharedParts(), made("rare")
    rare.metadata.labels = {"app": "rare"}
    shared.share(rare)
    for number in range(50):
        each = pod(f"p{number}").labels(app="web").condition("Ready", "True", f"{number}").obj()
        each.metadata.creation_timestamp = f"2026-01-01T00:00:{number:02}Z"
        shared.share(each)
        assert [condition.reason for condition in each.status.conditions] == [str(number)]
    again = made("again")
    again.metadata.labels = {"app": "rare"}
    shared.share(again)
    assert again.metadata.labels is rare.metadata.labels
    assert len(shared._passing) <= 10
    assert len(shared._times) <= 10
