"""The plugins that kube-scheduler runs by default, and their extension points, in each version.

Constants. The plugins of pod groups stand apart: they exist where a gate switches groups on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bayplan.config.schema import Plugin, PluginSet
from bayplan.core.framework.group_plugins import (
    GANG_SCHEDULING,
    POD_GROUP_PODS_COUNT,
    TOPOLOGY_PLACEMENT_GENERATOR,
)

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

# They exist in the file format, the last since v1.37; with the default gates nothing calls them.
PLACEMENT_POINTS: Final = ("placementGenerate", "placementScore")
POD_GROUP_POST_FILTER: Final = "podGroupPostFilter"
#: What is called for groups alone.
GROUP_EXTENSION_POINTS: Final = (*PLACEMENT_POINTS, POD_GROUP_POST_FILTER)

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

# v1.37 asks for the node's name first, three plugins have a PreFilter more, and two can make room for pod groups.
_CORDON, _NAME = DEFAULT_MULTI_POINT.enabled[2:4]
DEFAULT_MULTI_POINT_1_37: Final = PluginSet(
    enabled=(*DEFAULT_MULTI_POINT.enabled[:2], _NAME, _CORDON, *DEFAULT_MULTI_POINT.enabled[4:])
)
_NEW_POINTS_1_37: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("NodeName", "NodeUnschedulable", "TaintToleration"), frozenset({"preFilter"})),
    **dict.fromkeys(("DynamicResources", "DefaultPreemption"), frozenset({POD_GROUP_POST_FILTER})),
}
IMPLEMENTED_POINTS_1_37: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {name: points | _NEW_POINTS_1_37.get(name, frozenset()) for name, points in IMPLEMENTED_POINTS.items()}
)

# The plugins of pod groups, which run after all others, and what others do for groups.
GANG_PLUGINS: Final = (Plugin(name=GANG_SCHEDULING),)
PLACEMENT_PLUGINS: Final = (Plugin(name=TOPOLOGY_PLACEMENT_GENERATOR), Plugin(name=POD_GROUP_PODS_COUNT, weight=1))
GROUP_POINTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        GANG_SCHEDULING: frozenset({"preEnqueue", "permit"}),
        TOPOLOGY_PLACEMENT_GENERATOR: frozenset({"placementGenerate"}),
        POD_GROUP_PODS_COUNT: frozenset({"placementScore"}),
    }
)
