"""The versions that are known, in what no feature gate decides: default plugins, their order and their points."""

from __future__ import annotations

import pytest

from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.releases import RELEASES, default_plugins, implemented_points

AFTER_NAMES_AND_CORDONS = """
    TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone
    PodTopologySpread InterPodAffinity DynamicResources DefaultPreemption NodeResourcesBalancedAllocation ImageLocality
    DefaultBinder NodeDeclaredFeatures
"""
BY_VERSION = pytest.mark.parametrize(
    ("version", "names_and_cordons", "prepare"),
    [
        ("1.36", ["NodeUnschedulable", "NodeName"], set()),
        ("1.37", ["NodeName", "NodeUnschedulable"], {"NodeName", "NodeUnschedulable", "TaintToleration"}),
    ],
)


@BY_VERSION
def test_default_plugins_in_their_order(version: str, names_and_cordons: list[str], prepare: set[str]) -> None:
    plugins = default_plugins(read_feature_gates(None, RELEASES[version])).enabled
    expected = ["SchedulingGates", "PrioritySort", *names_and_cordons, *AFTER_NAMES_AND_CORDONS.split()]
    assert [each.name for each in plugins] == expected


@BY_VERSION
def test_cheap_plugins_prepare(version: str, names_and_cordons: list[str], prepare: set[str]) -> None:
    points = implemented_points(read_feature_gates(None, RELEASES[version]))
    cheap = {*names_and_cordons, "TaintToleration"}
    assert {name for name in cheap if "preFilter" in points[name]} == prepare
