"""Nodes that hold the pod's images score higher."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, raw_and_normal_scores

from bayplan.core.framework.contract import (
    FilterPlugin,
    NormalizePlugin,
    PreScorePlugin,
    ScorePlugin,
)
from bayplan.core.plugins.image_locality import ImageLocality, normalized_name, spread_size
from bayplan.model.volumes import ImageVolumeSource, Volume
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder

MEBI = 1024 * 1024


def scores(incoming: PodBuilder, *nodes: NodeBuilder, feasible: list[str] | None = None) -> list[int]:
    scored = raw_and_normal_scores(ImageLocality(), cache_of(*(item.obj() for item in nodes)), incoming.obj(), feasible)
    assert scored is not None
    return list(scored[0].values())


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.27", "nginx:1.27"),
        ("reg:5000/x", "reg:5000/x:latest"),
        ("reg:5000/x:1", "reg:5000/x:1"),
        ("x@sha256:abc", "x@sha256:abc"),
        ("a/b", "a/b:latest"),
        ("", ":latest"),
    ],
)
def test_names_without_a_tag_mean_latest(given: str, normal: str) -> None:
    """A colon before the last slash belongs to a registry's port, not to a tag."""
    assert normalized_name(given) == normal


@pytest.mark.parametrize(("holders", "score"), [(2, 9), (5, 28)])
def test_size_times_share_of_nodes(holders: int, score: int) -> None:
    """300 MiB on 2 of 5 nodes count as 120 MiB, on all of them as 300 MiB."""
    nodes = [node(f"n{i}") for i in range(5)]
    for holder in nodes[:holders]:
        holder.image("app:1", size_bytes=300 * MEBI)
    assert scores(pod("p").image("app:1"), *nodes) == [score] * holders + [0] * (5 - holders)


@pytest.mark.parametrize(
    ("size_mebi", "score"),
    [(0, 0), (22, 0), (23, 0), (33, 1), (999, 99), (1000, 100), (1001, 100), (50_000, 100)],
)
def test_clamped_between_the_thresholds(size_mebi: int, score: int) -> None:
    """23 MiB and less earn nothing, 1000 MiB and more everything."""
    assert scores(pod("p").image("app:1"), node("n").image("app:1", size_bytes=size_mebi * MEBI)) == [score]


@pytest.mark.parametrize(
    ("incoming", "score"),
    [
        pytest.param(pod("p").image("app:1"), 28, id="once"),
        pytest.param(pod("p").image("app"), 0, id="another tag"),
        pytest.param(pod("p").image("app:1").container(image="app:1"), 29, id="twice counts twice"),
        pytest.param(pod("p").image("app:1").container(image="other"), 14, id="each container raises the bar"),
        pytest.param(pod("p").image("other").init(image="app:1"), 14, id="init containers count"),
        pytest.param(
            pod("p").image("other").volume(Volume(name="v", image=ImageVolumeSource(reference="app:1"))),
            28,
            id="image volumes count without raising the bar",
        ),
        pytest.param(pod("p").image("other").volume(Volume(name="v")), 0, id="other volumes do not"),
        pytest.param(pod("p").image("alias"), 28, id="any of its names"),
    ],
)
def test_what_counts(incoming: PodBuilder, score: int) -> None:
    """All images of the pod on the node, against the number of containers."""
    assert scores(incoming, node("n").image("app:1", "alias:latest", size_bytes=300 * MEBI)) == [score]


def test_the_size_first_reported_serves_all_nodes() -> None:
    """Nodes may disagree about the size of one name; the first report stands."""
    first, second = node("a").image("x:1", size_bytes=500 * MEBI), node("b").image("x:1", size_bytes=100 * MEBI)
    assert scores(pod("p").image("x:1"), first, second) == [48, 48]


def test_the_share_is_of_all_nodes() -> None:
    """Nodes that are not feasible belong to the total; nodes that are only known from their pods do not."""
    nodes = [node("a").image("x:1", size_bytes=500 * MEBI), node("b"), node("c"), node("d")]
    incoming = pod("p").image("x:1")
    assert scores(incoming, *nodes, feasible=["a"]) == [10]
    cache = cache_of(pod("q").node("ghost").obj(), *(item.obj() for item in nodes))
    scored = raw_and_normal_scores(ImageLocality(), cache, incoming.obj())
    assert scored is not None
    assert scored[0] == {"a": 10, "b": 0, "c": 0, "d": 0}


def test_a_node_that_leaves_takes_its_share_along() -> None:
    """Holders and nodes are counted at the instant of the question."""
    nodes = [node("a").image("x:1", size_bytes=500 * MEBI), node("b").image("x:1", size_bytes=1), node("c"), node("d")]
    cache = cache_of(*(item.obj() for item in nodes))
    cache.remove_node("b")
    cache.remove_node("d")
    scored = raw_and_normal_scores(ImageLocality(), cache, pod("p").image("x:1").obj())
    assert scored is not None
    assert scored[0] == {"a": 23, "c": 0}


def test_the_order_of_operations_is_upstreams() -> None:
    """Dividing first loses a byte here that multiplying first would keep."""
    assert spread_size(100, 29, 100) == 28
    assert spread_size(2**53 + 1, 1, 1) == 2**53


@pytest.mark.parametrize(
    ("size_bytes", "containers", "score"),
    [
        pytest.param(2**62, 1, 100, id="huge"),
        pytest.param(2**62, 2, 0, id="the-sum-turns-negative"),
        pytest.param(2**62, 4, 0, id="the-sum-is-zero-again"),
        pytest.param(2**62, 5, 100, id="and-huge-again"),
        pytest.param(2**63 - 1, 1, 0, id="too-large-once-it-was-a-float"),
        pytest.param(-5, 1, 0, id="negative"),
    ],
)
def test_sizes_beyond_all_reason(size_bytes: int, containers: int, score: int) -> None:
    """Sums overflow as upstream's do, on amd64."""
    incoming = pod("p").image("app:1")
    for position in range(1, containers):
        incoming.container(f"c{position}", image="app:1")
    assert scores(incoming, node("n").image("app:1", size_bytes=size_bytes)) == [score]


def test_extension_points() -> None:
    """It scores and does nothing else."""
    plugin = ImageLocality()
    assert isinstance(plugin, ScorePlugin)
    for point in (FilterPlugin, PreScorePlugin, NormalizePlugin):
        assert not isinstance(plugin, point)
