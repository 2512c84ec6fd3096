"""Profiles that leave out single extension points of plugins: what still works, and what the others say."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from tests.support.caches import cache_of

from bayplan import Cluster
from bayplan.config.defaults import IMPLEMENTED_POINTS
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.deciding import Decider
from bayplan.core.framework.verdict import CycleError
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource, Volume
from bayplan.testing.builders import claim, node, pod, volume
from bayplan.testing.building import Builder

NOT_IN_CYCLE_STATE = "from cycleState: not found"

#: What the attempt ends in; plugins that are not named here work without the step.
WITHOUT_PRE_FILTER = {
    "NodePorts": f'reading "PreFilterNodePorts" {NOT_IN_CYCLE_STATE}',
    "NodeResourcesFit": f'error reading "PreFilterNodeResourcesFit" {NOT_IN_CYCLE_STATE}',
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
    "VolumeBinding": "not found",
    "PodTopologySpread": f'reading "PreFilterPodTopologySpread" {NOT_IN_CYCLE_STATE}',
    "InterPodAffinity": f'error reading "PreFilterInterPodAffinity" {NOT_IN_CYCLE_STATE}',
    "DynamicResources": "not found",
    "NodeDeclaredFeatures": 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
}
WITHOUT_PRE_SCORE = {
    "TaintToleration": f'failed to read "PreScoreTaintToleration" {NOT_IN_CYCLE_STATE}',
    "PodTopologySpread": f'error reading "PreScorePodTopologySpread" {NOT_IN_CYCLE_STATE}',
    "InterPodAffinity": f'failed to read "PreScoreInterPodAffinity" {NOT_IN_CYCLE_STATE}',
}
PREPARING_STEPS = [
    (point, plugin)
    for plugin, points in IMPLEMENTED_POINTS.items()
    for point in ("preFilter", "preScore")
    if point in points
]
#: Points that every profile must have a plugin for, or that no decision on a pod looks at.
LATER_POINTS = [
    (point, plugin)
    for plugin, points in IMPLEMENTED_POINTS.items()
    for point in ("preEnqueue", "filter", "postFilter", "score", "reserve", "preBind")
    if point in points
]

NODES = [node("a").capacity(cpu="4").zone("x"), node("b").capacity(cpu="8").zone("y")]


def without(point: str, plugin: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {point: {"disabled": [{"name": plugin}]}}}],
    }


def explained(incoming: Builder[Any], *others: Builder[Any], config: dict[str, Any] | None = None) -> dict[str, Any]:
    things = [*others, incoming]
    return Cluster.from_objects([thing.dict() for thing in things]).explain("default/p", config).to_dict()


def expected_error(point: str, plugin: str) -> str | None:
    if point == "preFilter" and plugin in WITHOUT_PRE_FILTER:
        return f'running "{plugin}" filter plugin: {WITHOUT_PRE_FILTER[plugin]}'
    if point == "preScore" and plugin in WITHOUT_PRE_SCORE:
        return f'running Score plugins: plugin "{plugin}" failed with: {WITHOUT_PRE_SCORE[plugin]}'
    return None


@pytest.mark.parametrize(("point", "plugin"), PREPARING_STEPS)
def test_without_its_preparing_step_a_plugin_works_or_says_what_it_misses(point: str, plugin: str) -> None:
    """And what works gives the same answer as with the step."""
    incoming = pod("p").cpu("1").node_selector({"topology.kubernetes.io/zone": "y"}).node_affinity("rack", weight=1)
    others = [*NODES, node("c").capacity(cpu="2").zone("y")]
    found = explained(incoming, *others, config=without(point, plugin))
    error = expected_error(point, plugin)
    if error is None:
        plain = explained(incoming, *others)
        assert {key: found[key] for key in ("filter", "feasible", "totals")} == {
            key: plain[key] for key in ("filter", "feasible", "totals")
        }
        assert "error" not in found
    else:
        assert (found["error"], found["message"]) == (error, error)
        assert found["prefilter"]["code"] == "Success"
        assert found["feasible"] == ([] if point == "preFilter" else ["b", "c"])


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize(("point", "plugin"), PREPARING_STEPS)
def test_the_decider_agrees(point: str, plugin: str, reuse: bool) -> None:
    """Whether it may reuse what it knows or not."""
    cache = cache_of(*(built.obj() for built in NODES))
    decider = Decider(build_profiles(load_configuration(without(point, plugin), release=DEFAULT_RELEASE)), reuse=reuse)
    error = expected_error(point, plugin)
    for name in ("p", "q"):
        expectation = nullcontext() if error is None else pytest.raises(CycleError, match=f"^{re.escape(error)}$")
        with expectation:
            decider.decide(cache.info(pod(name).cpu("1").obj()), cache.view())


@pytest.mark.parametrize(("point", "plugin"), LATER_POINTS)
def test_without_any_other_point_pods_are_placed(point: str, plugin: str) -> None:
    """The plugin has no say there, and nobody misses it."""
    found = explained(pod("p").cpu("1"), *NODES, config=without(point, plugin))
    assert found["feasible"] == ["a", "b"]
    if point == "score":
        assert all(plugin not in by_plugin for by_plugin in found["scores"].values())


def test_volume_zone_without_pre_filter_rejects_node_by_node() -> None:
    """What PreFilter would have said of the pod is said of each node that gets that far."""
    config = without("preFilter", "VolumeZone")
    others = [{"name": name} for name in ("VolumeBinding", "VolumeRestrictions", "NodeVolumeLimits")]
    plugins = config["profiles"][0]["plugins"]
    plugins["preFilter"]["disabled"] += others
    plugins["filter"] = {"disabled": others}
    lost = explained(pod("p").claim("data"), *NODES, config=config)
    assert lost["prefilter"]["code"] == "Success"
    assert lost["filter"]["a"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "VolumeZone",
        "reasons": ['persistentvolumeclaim "data" not found'],
    }
    disk: list[Builder[Any]] = [claim("data").bound("pv"), volume("pv").labels({"topology.kubernetes.io/zone": "y"})]
    assert explained(pod("p").claim("data"), *NODES, *disk, config=config)["feasible"] == ["b"]


def test_volume_restrictions_without_pre_filter_miss_it_only_where_no_disk_clashes() -> None:
    """A disk in use is found without any preparation."""
    disk = Volume(name="data", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
    shared = pod("p").volume(disk)
    using = [pod(f"on-{name}").volume(disk).running(name) for name in ("a", "b")]
    config = without("preFilter", "VolumeRestrictions")
    taken = explained(shared, *NODES, *using, config=config)
    assert {verdict["reasons"][0] for verdict in taken["filter"].values()} == {"node(s) had no available disk"}
    assert WITHOUT_PRE_FILTER["VolumeRestrictions"] in explained(shared, *NODES, using[0], config=config)["error"]


def test_a_lone_feasible_node_needs_no_scores() -> None:
    """It is taken without asking, so nothing is missed."""
    found = explained(pod("p").cpu("6"), *NODES, config=without("preScore", "TaintToleration"))
    assert (found["best"], found["scores"], found["totals"]) == (["b"], {}, {})
    assert "error" not in found
