"""The policies in examples/openb: sound plugins, single GPUs kept apart, and the published allocation reproduced."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import fmean

import pytest
from examples.openb.allocation import CONFIGURATIONS, measure, published_means
from examples.openb.gpu_devices import GPU_MILLI, NO_DEVICE, GpuDevices
from examples.openb.policies import BestFit, RandomNode
from tests.support.caches import cache_of, raw_and_normal_scores, verdicts

from bayplan.core.cache import Cache
from bayplan.core.framework.verdict import Code
from bayplan.testing import check_plugin
from bayplan.testing.builders import node, pod
from bayplan.testing.clusters import NODE_PATTERNS, POD_PATTERNS, small_scene

DATA = Path(__file__).parents[6] / "shared" / "data"

SEEDS = {"BestFit": range(42, 44), "Random": range(42, 45)}  # of 42 to 51; random runs differ more from each other

GPU_PODS = tuple(
    partial(lambda p, milli: p.request({"cpu": "100m", GPU_MILLI: milli}), milli=milli)
    for milli in (200, 500, 600, 1000, 2000)
)
GPU_NODES = tuple(
    partial(lambda n, gpus: n.capacity({GPU_MILLI: gpus * 1000}), gpus=gpus)  # room comes from the scene
    for gpus in (1, 2, 4)
)
gpu_scene = partial(
    small_scene, pod_patterns=(*GPU_PODS, *POD_PATTERNS[:3]), node_patterns=(*GPU_NODES, *NODE_PATTERNS[:1])
)


@pytest.mark.parametrize("pick", ["tightest", "random"])
def test_gpu_devices_is_a_sound_plugin(pick: str) -> None:
    check_plugin(lambda: GpuDevices({"pick": pick}), scenes=gpu_scene, seeds=range(12))


@pytest.mark.parametrize("policy", [BestFit, RandomNode])
def test_policies_are_sound_plugins(policy: type) -> None:
    check_plugin(policy, scenes=gpu_scene, seeds=range(12))


def fits(plugin: GpuDevices, cache: Cache, milli: int) -> bool:
    found = verdicts(plugin, cache, pod("new").request({GPU_MILLI: milli}).obj())["n"]
    assert found.code is Code.SUCCESS or found.message == NO_DEVICE
    return found.code is Code.SUCCESS


def test_two_halves_are_not_a_whole() -> None:
    """Both pods of 600 have a GPU of their own: 800 are free, but no more than 400 on one of them."""
    cache = cache_of(node("n").capacity({GPU_MILLI: 2000}).obj())
    for name in ("a", "b"):
        cache.add_pod(pod(name).request({GPU_MILLI: 600}).node("n").obj())
    plugin = GpuDevices()
    assert fits(plugin, cache, 400)
    assert not fits(plugin, cache, 500)


def test_a_share_goes_to_the_fullest_gpu_with_room() -> None:
    cache = cache_of(node("n").capacity({GPU_MILLI: 2000}).obj())
    plugin = GpuDevices()
    for name, milli in (("a", 500), ("b", 300)):
        cache.add_pod(pod(name).request({GPU_MILLI: milli}).node("n").obj())
    assert fits(plugin, cache, 1000)
    assert not fits(plugin, cache, 2000)


def test_a_pod_keeps_its_gpu_when_others_leave() -> None:
    """Once a is gone b would fit beside c; but it runs on the second GPU, and so none is free as a whole."""
    cache = cache_of(node("n").capacity({GPU_MILLI: 2000}).obj())
    plugin = GpuDevices()
    for name, milli in (("a", 600), ("b", 500), ("c", 400)):
        cache.add_pod(pod(name).request({GPU_MILLI: milli}).node("n").obj())
        fits(plugin, cache, 1)
    cache.remove_pod("default/a")
    assert not fits(plugin, cache, 1000)
    cache.remove_pod("default/b")
    assert fits(plugin, cache, 1000)


def test_best_fit_is_what_is_left_of_cpu_and_gpu() -> None:
    cache = cache_of(
        node("small").capacity({"cpu": "64", GPU_MILLI: 4000}).obj(),
        node("large").capacity({"cpu": "128", GPU_MILLI: 8000}).obj(),
    )
    cache.add_pod(pod("a").request({"cpu": "32", GPU_MILLI: 1000}).node("large").obj())
    scores = raw_and_normal_scores(BestFit(), cache, pod("new").request({"cpu": "32", GPU_MILLI: 2000}).obj())
    assert scores is not None
    # small: a quarter of 128 cores and of 8 GPUs left; large: half of the cores and five eighths of the GPUs.
    assert scores[0] == {"small": 75, "large": 43}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded traces (../shared/data) are not there")
@pytest.mark.parametrize("policy", list(CONFIGURATIONS))
def test_published_gpu_allocation(policy: str) -> None:
    """Within 0.3 points of the published mean when the pods that came ask for as many GPUs as there are."""
    curves = list(measure(f"openb:{DATA / 'openb'}", policy, SEEDS[policy], demand=1.01))
    published = published_means(DATA / "anchors" / "fgd_summary.csv", policy)
    assert abs(fmean(curve[100] for curve in curves) - published[100]) < 0.3
