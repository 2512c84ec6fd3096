"""The plugins that kube-scheduler v1.36 runs by default, and their extension points.

Constants, and which of the plugins a feature gate takes away. The gates of the plugins of pod groups (GangScheduling
and its kin) cannot be set here, so these plugins are not named.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bayplan.config.schema import Plugin, PluginSet
from bayplan.core.feature_gates import FeatureGates

EXTENSION_POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)

# They exist in the file format; with the default gates nothing calls them.
PLACEMENT_POINTS: Final = ("placementGenerate", "placementScore")

NODE_DECLARED_FEATURES: Final = "NodeDeclaredFeatures"

DEFAULT_MULTI_POINT: Final = PluginSet(
    enabled=(
        Plugin(name="SchedulingGates"),
        Plugin(name="PrioritySort"),
        Plugin(name="NodeUnschedulable"),
        Plugin(name="NodeName"),
        Plugin(name="TaintToleration", weight=3),
        Plugin(name="NodeAffinity", weight=2),
        Plugin(name="NodePorts"),
        Plugin(name="NodeResourcesFit", weight=1),
        Plugin(name="VolumeRestrictions"),
        Plugin(name="NodeVolumeLimits"),
        Plugin(name="VolumeBinding"),
        Plugin(name="VolumeZone"),
        Plugin(name="PodTopologySpread", weight=2),
        Plugin(name="InterPodAffinity", weight=2),
        Plugin(name="DynamicResources", weight=2),
        Plugin(name="DefaultPreemption"),
        Plugin(name="NodeResourcesBalancedAllocation", weight=1),
        Plugin(name="ImageLocality", weight=1),
        Plugin(name="DefaultBinder"),
        Plugin(name=NODE_DECLARED_FEATURES),
    )
)

IMPLEMENTED_POINTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "SchedulingGates": frozenset({"preEnqueue"}),
        "PrioritySort": frozenset({"queueSort"}),
        "NodeUnschedulable": frozenset({"filter"}),
        "NodeName": frozenset({"filter"}),
        "TaintToleration": frozenset({"filter", "preScore", "score"}),
        "NodeAffinity": frozenset({"preFilter", "filter", "preScore", "score"}),
        "NodePorts": frozenset({"preFilter", "filter"}),
        "NodeResourcesFit": frozenset({"preFilter", "filter", "preScore", "score", "placementScore"}),
        "VolumeRestrictions": frozenset({"preFilter", "filter"}),
        "NodeVolumeLimits": frozenset({"preFilter", "filter"}),
        "VolumeBinding": frozenset({"preFilter", "filter", "reserve", "preBind", "preScore", "score"}),
        "VolumeZone": frozenset({"preFilter", "filter"}),
        "PodTopologySpread": frozenset({"preFilter", "filter", "preScore", "score"}),
        "InterPodAffinity": frozenset({"preFilter", "filter", "preScore", "score"}),
        "DynamicResources": frozenset(
            {"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"}
        ),
        "DefaultPreemption": frozenset({"preEnqueue", "postFilter"}),
        "NodeResourcesBalancedAllocation": frozenset({"preScore", "score"}),
        "ImageLocality": frozenset({"score"}),
        "DefaultBinder": frozenset({"bind"}),
        "NodeDeclaredFeatures": frozenset({"preFilter", "filter"}),
    }
)

REMOVED_PLUGINS: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})


def default_plugins(gates: FeatureGates) -> PluginSet:
    """The plugins that run unless a file says otherwise."""
    if gates.node_declared_features:
        return DEFAULT_MULTI_POINT
    return PluginSet(enabled=tuple(each for each in DEFAULT_MULTI_POINT.enabled if each.name != NODE_DECLARED_FEATURES))
