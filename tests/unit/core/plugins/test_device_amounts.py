"""Scores of resources that come as devices."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, raw_and_normal_scores
from tests.support.devices import DRIVER, asks, claim_of, device, device_class, held, slice_of

from bayplan.analysis.placement import place_pods
from bayplan.analysis.tie_breaks import smallest_name
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.cache import Cache
from bayplan.core.framework.args import (
    MOST_ALLOCATED,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceWeight,
    ScoringStrategy,
)
from bayplan.core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

pytestmark = pytest.mark.usefixtures("either_way")

GPU = "example.com/gpu"
ONLY_GPU = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(MOST_ALLOCATED, (ResourceWeight(GPU),)))
MODEL_A = f'device.attributes["{DRIVER}"].model == "a"'


def gpus(name: str, count: int, model: str = "a") -> Object:
    return slice_of(name, *(device(f"d{place}", model=model) for place in range(count)))


def cluster() -> Cache:
    return cache_of(
        node("own").capacity({GPU: 4}).obj(),
        node("half").obj(),
        node("free").obj(),
        node("other").obj(),
        node("none").obj(),
        device_class("gpu", MODEL_A, extended=GPU),
        gpus("half", 4),
        gpus("free", 4),
        gpus("other", 4, "b"),
        gpus("own", 1),
        held(claim_of("taken", asks("r")), "half", "d0", "d1"),
    )


def test_devices_of_the_class_count_where_the_node_has_none_of_the_resource() -> None:
    asking = pod("p").request({GPU: 1}).obj()
    scores = raw_and_normal_scores(NodeResourcesFit(ONLY_GPU, gates=DEFAULT_GATES), cluster(), asking)
    assert scores is not None
    assert scores[0] == {"own": 25, "half": 75, "free": 25, "other": 0, "none": 0}


def test_a_selector_that_fails_takes_the_whole_node_out() -> None:
    cache = cluster()
    cache.add(slice_of("free", device("odd"), name="more", pool="more"))
    asking = pod("p").request({GPU: 1}).obj()
    scores = raw_and_normal_scores(NodeResourcesFit(ONLY_GPU, gates=DEFAULT_GATES), cache, asking)
    assert scores is not None
    assert scores[0]["free"] == 0


def test_balance_counts_devices_as_well() -> None:
    args = NodeResourcesBalancedAllocationArgs((ResourceWeight("cpu"), ResourceWeight(GPU)))
    asking = pod("p").cpu("1").request({GPU: 1}).obj()
    scores = raw_and_normal_scores(NodeResourcesBalancedAllocation(args), cluster(), asking)
    assert scores is not None
    # cpu goes from 0 to 1/4: "free" stays even, "half" was at 1/2 and goes to 3/4.
    assert scores[0] == {"own": 75, "free": 75, "half": 75, "other": 75, "none": 75}


def test_reused_scores_follow_the_devices() -> None:
    """Placing one after another, with what is known of pods alike, comes to the same as from scratch."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 1}]}
                        },
                    }
                ]
            }
        ],
    }
    profiles = build_profiles(load_configuration(config, release=DEFAULT_RELEASE))
    pods = [pod(f"p{number}").request({GPU: 1}).obj() for number in range(9)]
    quick, slow = (
        [placed.node for placed in place_pods(cluster(), profiles, pods, smallest_name, reuse=reuse).decisions]
        for reuse in (True, False)
    )
    assert quick == slow
    assert quick[:2] == ["half", "half"]
