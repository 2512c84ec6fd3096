"""The plugins there are, and profiles built from a configuration. The only importer of all plugins.

Plugins from outside come with the configuration, ready made. In a profile every plugin goes by the name it has itself,
not by the one under which a file names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayplan.config.defaults import POD_GROUP_POST_FILTER
from bayplan.config.loading import Configuration, ProfileSpec
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.contract import (
    PermitPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from bayplan.core.framework.extender import Extender
from bayplan.core.framework.group_plugins import GANG_SCHEDULING, NO_GROUP_PLUGINS, GroupPlugins
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.unprepared import filters_as_prepared, pre_scorers_in_effect, scorers_as_prepared
from bayplan.core.plugins.default_binder import DefaultBinder
from bayplan.core.plugins.default_preemption import DefaultPreemption
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.core.plugins.gang_scheduling import GangScheduling
from bayplan.core.plugins.image_locality import ImageLocality
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.core.plugins.node_affinity import NodeAffinity
from bayplan.core.plugins.node_declared_features import NodeDeclaredFeatures
from bayplan.core.plugins.node_name import NarrowingNodeName, NodeName
from bayplan.core.plugins.node_ports import NodePorts
from bayplan.core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.node_unschedulable import NodeUnschedulable
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.core.plugins.pod_group_pods_count import PodGroupPodsCount
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.plugins.scheduling_gates import SchedulingGates
from bayplan.core.plugins.taint_toleration import TaintToleration
from bayplan.core.plugins.topology_placement_generator import TopologyPlacementGenerator
from bayplan.core.plugins.volume_binding import VolumeBinding
from bayplan.core.plugins.volume_restrictions import VolumeRestrictions
from bayplan.core.plugins.volume_zone import VolumeZone
from bayplan.core.queue.pod_heap import SortKey

PluginFactory = Callable[..., Any]

#: Plugins that take no args.
PLAIN: tuple[PluginFactory, ...] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodePorts,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeZone,
    ImageLocality,
    DefaultPreemption,
    DefaultBinder,
    NodeDeclaredFeatures,
)
#: Plugins whose constructor takes their typed args.
WITH_ARGS: tuple[PluginFactory, ...] = (
    NodeAffinity,
    NodeResourcesFit,
    VolumeBinding,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    NodeResourcesBalancedAllocation,
)
#: Plugins that only see placements of pod groups.
OF_PLACEMENTS: tuple[PluginFactory, ...] = (TopologyPlacementGenerator, PodGroupPodsCount)
PLUGINS_BY_NAME: Mapping[str, PluginFactory] = {factory.name: factory for factory in (*PLAIN, *WITH_ARGS)}  # type: ignore[attr-defined]
#: Plugins whose constructor takes the feature gates.
WITH_GATES: frozenset[PluginFactory] = frozenset(
    (
        DynamicResources,
        InterPodAffinity,
        NodeDeclaredFeatures,
        NodeResourcesFit,
        NodeUnschedulable,
        NodeVolumeLimits,
        PodTopologySpread,
        TaintToleration,
        VolumeBinding,
    )
)


def build_profiles(configuration: Configuration, extenders: Sequence[Extender] = ()) -> dict[str, Profile]:
    """Profiles by scheduler name. All of them ask the `extenders`, which whoever is to ask them makes."""
    return {spec.scheduler_name: _build(spec, configuration, tuple(extenders)) for spec in configuration.profiles}


def queue_order(profiles: Mapping[str, Profile]) -> SortKey:
    """The order of the queue that all profiles share."""
    plugin = next(iter(profiles.values())).queue_sort
    return PrioritySort().sort_key if plugin is None else plugin.sort_key


def _build(spec: ProfileSpec, configuration: Configuration, extenders: tuple[Extender, ...]) -> Profile:
    plugins = _instances(spec, configuration.gates)

    def at(point: str) -> tuple[Any, ...]:
        return tuple(plugins[name] for name in spec.plugins[point] if name in plugins)

    # Some PreFilters of upstream's do nothing, and are not there.
    pre_filter = tuple(plugin for plugin in at("preFilter") if isinstance(plugin, PreFilterPlugin))
    pre_score = pre_scorers_in_effect(at("preScore"), at("score"))
    return Profile(
        scheduler_name=spec.scheduler_name,
        # That of DefaultPreemption is part of the scheduler, which knows whose victims are being evicted.
        pre_enqueue=tuple(plugin for plugin in at("preEnqueue") if isinstance(plugin, PreEnqueuePlugin)),
        pre_filter=pre_filter,
        filter=filters_as_prepared(at("filter"), pre_filter),
        post_filter=tuple(plugin for plugin in at("postFilter") if isinstance(plugin, PostFilterPlugin)),
        pre_score=pre_score,
        score=scorers_as_prepared(at("score"), pre_score),
        weights={plugins[name].name: weight for name, weight in spec.score_weights.items() if name in plugins},
        reserve=tuple(plugin for plugin in at("reserve") if isinstance(plugin, ReservePlugin)),
        permit=(*at("permit"), *_gang_permit(spec, configuration.gates)),
        pre_bind=tuple(plugin for plugin in at("preBind") if isinstance(plugin, PreBindPlugin)),
        bind=next(iter(at("bind")), None),
        post_bind=at("postBind"),
        queue_sort=next(iter(at("queueSort")), None),
        percentage_of_nodes_to_score=(
            configuration.percentage_of_nodes_to_score
            if spec.percentage_of_nodes_to_score is None
            else spec.percentage_of_nodes_to_score
        ),
        # Upstream ends the search for candidates early; here only a configuration that says so does.
        preemption=spec.args[DEFAULT_PREEMPTION] if DEFAULT_PREEMPTION in spec.configured else None,
        extenders=extenders,
        groups=_group_plugins(spec, at) if configuration.gates.generic_workload else NO_GROUP_PLUGINS,
    )


def _group_plugins(spec: ProfileSpec, at: Callable[[str], tuple[Any, ...]]) -> GroupPlugins:
    weights = [spec.placement_weights[name] for name in spec.plugins["placementScore"]]
    return GroupPlugins(
        gang_gate=GangScheduling() if GANG_SCHEDULING in spec.plugins["preEnqueue"] else None,
        counts_gangs=any(GANG_SCHEDULING in names for names in spec.plugins.values()),
        generate=next(iter(at("placementGenerate")), None),
        score=tuple(zip(at("placementScore"), weights, strict=True)),
        post_filter=at(POD_GROUP_POST_FILTER),
    )


def _gang_permit(spec: ProfileSpec, gates: FeatureGates) -> tuple[PermitPlugin, ...]:
    is_asked = gates.generic_workload and GANG_SCHEDULING in spec.plugins["permit"]
    return (GangScheduling(),) if is_asked else ()


def _instances(spec: ProfileSpec, gates: FeatureGates) -> Mapping[str, Any]:
    used = {name for names in spec.plugins.values() for name in names}
    built: dict[str, Any] = {}
    for factory in (*PLAIN, *WITH_ARGS, *OF_PLACEMENTS):
        name: str = factory.name  # type: ignore[attr-defined]
        if name in used:
            args = (spec.args[name],) if factory in WITH_ARGS else ()
            built[name] = factory(*args, gates=gates) if factory in WITH_GATES else factory(*args)
    if NodeName.name in used and gates.release.node_name_narrows:
        built[NodeName.name] = NarrowingNodeName()
    return {**built, **spec.outside}
