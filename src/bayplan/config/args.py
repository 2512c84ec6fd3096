"""The `args` of a pluginConfig entry to the typed args a plugin takes.

Takes plain data, gives instances of `bayplan.core.framework.args` with defaults filled in, and reports
everything upstream's validation refuses, in its words. Plugins without args of a kind known here get theirs
as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.config.decoding import decode_struct
from bayplan.config.faults import ConfigFaults
from bayplan.config.node_selectors import check_node_affinity
from bayplan.config.schema import API_VERSION, Part
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework import args as core
from bayplan.model.durations import Duration
from bayplan.model.meta import Int32, Int64
from bayplan.model.names import label_key_faults
from bayplan.model.pod import NodeAffinity, TopologySpreadConstraint
from bayplan.model.time_units import SECOND

_STRATEGIES = (core.LEAST_ALLOCATED, core.MOST_ALLOCATED, core.REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class _Args(Part, frozen=True):
    api_version: str = ""
    kind: str = ""


class _Resource(Part, frozen=True):
    name: str = ""
    weight: Int64 = 0


class _Point(Part, frozen=True):
    utilization: Int32 = 0
    score: Int32 = 0


class _Ratio(Part, frozen=True):
    shape: tuple[_Point, ...] = ()


class _Strategy(Part, frozen=True):
    type: str = ""
    resources: tuple[_Resource, ...] = ()
    requested_to_capacity_ratio: _Ratio | None = None


class _FitArgs(_Args, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: _Strategy = _Strategy(type=core.LEAST_ALLOCATED)


class _BalancedArgs(_Args, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _InterPodAffinityArgs(_Args, frozen=True):
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class _NodeAffinityArgs(_Args, frozen=True):
    added_affinity: NodeAffinity | None = None


class _SpreadArgs(_Args, frozen=True):
    defaulting_type: str = ""
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()


class _VolumeBindingArgs(_Args, frozen=True):
    bind_timeout_seconds: Int64 = 600
    shape: tuple[_Point, ...] | None = None


class _DynamicResourcesArgs(_Args, frozen=True):
    filter_timeout: Duration | None = None
    binding_timeout: Duration | None = None


class _PreemptionArgs(_Args, frozen=True):
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


DEFAULT_ARGS: dict[str, core.PluginArgs] = {
    "NodeResourcesFit": core.NodeResourcesFitArgs(),
    "NodeResourcesBalancedAllocation": core.NodeResourcesBalancedAllocationArgs(),
    "InterPodAffinity": core.InterPodAffinityArgs(),
    "NodeAffinity": core.NodeAffinityArgs(),
    "PodTopologySpread": core.PodTopologySpreadArgs(),
    "VolumeBinding": core.VolumeBindingArgs(),
    "DynamicResources": core.DynamicResourcesArgs(),
    "DefaultPreemption": core.DefaultPreemptionArgs(),
}


def read_args(plugin_name: str, data: Any, gates: FeatureGates, path: str, faults: ConfigFaults) -> Any:
    """Typed args for a plugin that has some here, the data itself for any other."""
    if plugin_name not in DEFAULT_ARGS:
        return data
    if data is None:
        return DEFAULT_ARGS[plugin_name]
    if not _is_of_kind(f"{plugin_name}Args", data, path, faults):
        return DEFAULT_ARGS[plugin_name]
    if plugin_name in _READERS_WITH_GATES:
        return _READERS_WITH_GATES[plugin_name](data, gates, path, faults)
    return _READERS[plugin_name](data, path, faults)


def _is_of_kind(kind: str, data: Any, path: str, faults: ConfigFaults) -> bool:
    """Whether apiVersion and kind, where given, are the plugin's own; else its fields would mislead."""
    if not isinstance(data, dict):
        return True  # decoding says that an object was expected
    given = (data.get("apiVersion") or API_VERSION, data.get("kind") or kind)
    if given == (API_VERSION, kind):
        return True
    wanted = f"{API_VERSION}, Kind={kind}"
    faults.add(path, f"has to match plugin args: expected {wanted}, got {given[0]}, Kind={given[1]}")
    return False


def _read_fit(data: Any, path: str, faults: ConfigFaults) -> core.NodeResourcesFitArgs:
    args = decode_struct(_FitArgs, data, path, faults)
    _check_names(args.ignored_resources, f"{path}.ignoredResources", faults)
    groups_path = f"{path}.ignoredResourceGroups"
    for position, group in enumerate(args.ignored_resource_groups):
        if "/" in group:
            faults.invalid(f"{groups_path}[{position}]", group, "resource group name can't contain '/'")
    _check_names(args.ignored_resource_groups, groups_path, faults)
    return core.NodeResourcesFitArgs(
        ignored_resources=frozenset(args.ignored_resources),
        ignored_resource_groups=frozenset(args.ignored_resource_groups),
        scoring_strategy=_strategy(args.scoring_strategy, f"{path}.scoringStrategy", faults),
    )


def _strategy(given: _Strategy, path: str, faults: ConfigFaults) -> core.ScoringStrategy:
    if given.type not in _STRATEGIES:
        faults.unsupported(f"{path}.type", given.type, _STRATEGIES)
    resources = _resources(given.resources)
    for position, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            weight_path = f"{path}.resources[{position}].weight"
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            faults.invalid(weight_path, resource.weight, detail)
    return core.ScoringStrategy(given.type, resources, _ratio_shape(given, path, faults))


def _ratio_shape(given: _Strategy, path: str, faults: ConfigFaults) -> tuple[core.ShapePoint, ...]:
    ratio, ratio_path = given.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if given.type != core.REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            faults.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
        return ()
    if ratio is None:
        faults.required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
        return ()
    _check_shape(ratio.shape, f"{ratio_path}.shape", faults)
    return _points(ratio.shape)


def _points(shape: tuple[_Point, ...]) -> tuple[core.ShapePoint, ...]:
    return tuple(core.ShapePoint(point.utilization, point.score) for point in shape)


def _check_shape(shape: tuple[_Point, ...], path: str, faults: ConfigFaults) -> None:
    if not shape:
        faults.required(path, "at least one point must be specified")
    for position in range(1, len(shape)):
        if shape[position - 1].utilization >= shape[position].utilization:
            utilization_path = f"{path}[{position}].utilization"
            detail = "values must be sorted in increasing order"
            faults.invalid(utilization_path, shape[position].utilization, detail)
            break  # one disorder makes the points after it look wrong as well
    for position, point in enumerate(shape):
        _check_range(point.utilization, 100, f"{path}[{position}].utilization", faults)
        _check_range(point.score, 10, f"{path}[{position}].score", faults)


def _read_balanced(data: Any, path: str, faults: ConfigFaults) -> core.NodeResourcesBalancedAllocationArgs:
    resources = _resources(decode_struct(_BalancedArgs, data, path, faults).resources)
    seen: set[str] = set()
    for position, resource in enumerate(resources):
        resource_path = f"{path}.resources[{position}]"
        if resource.name in seen:
            faults.duplicate(f"{resource_path}.name", resource.name)
        if resource.weight != 1:
            faults.invalid(f"{resource_path}.weight", resource.weight, "must be 1")
        seen.add(resource.name)
    return core.NodeResourcesBalancedAllocationArgs(resources)


def _resources(given: tuple[_Resource, ...]) -> tuple[core.ResourceWeight, ...]:
    if not given:
        return core.DEFAULT_RESOURCES
    return tuple(core.ResourceWeight(resource.name, resource.weight or 1) for resource in given)


def _read_inter_pod_affinity(data: Any, path: str, faults: ConfigFaults) -> core.InterPodAffinityArgs:
    args = decode_struct(_InterPodAffinityArgs, data, path, faults)
    _check_range(args.hard_pod_affinity_weight, 100, f"{path}.hardPodAffinityWeight", faults)
    return core.InterPodAffinityArgs(args.hard_pod_affinity_weight, args.ignore_preferred_terms_of_existing_pods)


def _read_node_affinity(data: Any, path: str, faults: ConfigFaults) -> core.NodeAffinityArgs:
    args = decode_struct(_NodeAffinityArgs, data, path, faults)
    if args.added_affinity is not None:
        check_node_affinity(args.added_affinity, f"{path}.addedAffinity", faults)
    return core.NodeAffinityArgs(args.added_affinity)


def _read_spread(data: Any, path: str, faults: ConfigFaults) -> core.PodTopologySpreadArgs:
    args = decode_struct(_SpreadArgs, data, path, faults)
    defaulting = args.defaulting_type or core.SYSTEM_DEFAULTING
    type_path = f"{path}.defaultingType"
    if defaulting not in (core.SYSTEM_DEFAULTING, core.LIST_DEFAULTING):
        faults.unsupported(type_path, defaulting, (core.SYSTEM_DEFAULTING, core.LIST_DEFAULTING))
    elif defaulting == core.SYSTEM_DEFAULTING and args.default_constraints:
        faults.invalid(type_path, defaulting, "when .defaultConstraints are not empty")
    _check_constraints(args.default_constraints, f"{path}.defaultConstraints", faults)
    if defaulting == core.SYSTEM_DEFAULTING:
        return core.PodTopologySpreadArgs()
    return core.PodTopologySpreadArgs(defaulting, args.default_constraints)


def _check_constraints(constraints: tuple[TopologySpreadConstraint, ...], path: str, faults: ConfigFaults) -> None:
    seen: set[tuple[str, str]] = set()
    for position, constraint in enumerate(constraints):
        constraint_path = f"{path}[{position}]"
        _check_constraint(constraint, constraint_path, faults)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            faults.duplicate(constraint_path, f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _check_constraint(constraint: TopologySpreadConstraint, path: str, faults: ConfigFaults) -> None:
    if constraint.max_skew <= 0:
        faults.invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    key, key_path = constraint.topology_key, f"{path}.topologyKey"
    if not key:
        faults.required(key_path, "can not be empty")
    for error in label_key_faults(key) if key else ():
        faults.invalid(key_path, key, error)
    action, action_path = constraint.when_unsatisfiable, f"{path}.whenUnsatisfiable"
    if not action:
        faults.required(action_path, "can not be empty")
    elif action not in _ACTIONS:
        faults.unsupported(action_path, action, _ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        faults.forbidden(f"{path}.labelSelector", detail)


def _read_volume_binding(data: Any, gates: FeatureGates, path: str, faults: ConfigFaults) -> core.VolumeBindingArgs:
    args = decode_struct(_VolumeBindingArgs, data, path, faults)
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        faults.invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, detail)
    if args.shape is not None and not gates.storage_capacity_scoring:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        faults.forbidden(f"{path}.shape", detail)
    if not args.shape:
        return core.VolumeBindingArgs(args.bind_timeout_seconds)
    _check_shape(args.shape, f"{path}.shape", faults)
    return core.VolumeBindingArgs(args.bind_timeout_seconds, _points(args.shape))


def _read_dynamic_resources(
    data: Any, gates: FeatureGates, path: str, faults: ConfigFaults
) -> core.DynamicResourcesArgs:
    args = decode_struct(_DynamicResourcesArgs, data, path, faults)
    given = {}
    if args.filter_timeout is not None:
        given["filter_timeout_ns"] = int(args.filter_timeout)
        if not gates.dra_scheduler_filter_timeout:
            faults.forbidden(f"{path}.filterTimeout", "DRASchedulingFilterTimeout feature gate is disabled")
        elif args.filter_timeout < 0:
            faults.add(f"{path}.filterTimeout", "must be zero or positive")
    if args.binding_timeout is not None:
        given["binding_timeout_ns"] = int(args.binding_timeout)
        if not gates.binds_devices_by_conditions:
            off = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
            faults.forbidden(f"{path}.bindingTimeout", off)
        elif args.binding_timeout < SECOND:
            faults.add(f"{path}.bindingTimeout", "must be at least 1 second")
    return core.DynamicResourcesArgs(**given)


def _read_preemption(data: Any, path: str, faults: ConfigFaults) -> core.DefaultPreemptionArgs:
    args = decode_struct(_PreemptionArgs, data, path, faults)
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = f"{path}.minCandidateNodesPercentage"
    absolute_path = f"{path}.minCandidateNodesAbsolute"
    _check_range(percentage, 100, percentage_path, faults)
    if absolute < 0:
        faults.invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        together = "cannot be zero at the same time as "
        faults.invalid(percentage_path, percentage, f"{together}minCandidateNodesAbsolute")
        faults.invalid(absolute_path, absolute, f"{together}minCandidateNodesPercentage")
    return core.DefaultPreemptionArgs(percentage, absolute)


def _check_range(value: int, highest: int, path: str, faults: ConfigFaults) -> None:
    if not 0 <= value <= highest:
        faults.invalid(path, value, f"not in valid range [0, {highest}]")


def _check_names(names: tuple[str, ...], path: str, faults: ConfigFaults) -> None:
    for position, name in enumerate(names):
        for error in label_key_faults(name):
            faults.invalid(f"{path}[{position}]", name, error)


_READERS: dict[str, Callable[[Any, str, ConfigFaults], core.PluginArgs]] = {
    "NodeResourcesFit": _read_fit,
    "NodeResourcesBalancedAllocation": _read_balanced,
    "InterPodAffinity": _read_inter_pod_affinity,
    "NodeAffinity": _read_node_affinity,
    "PodTopologySpread": _read_spread,
    "DefaultPreemption": _read_preemption,
}
_READERS_WITH_GATES: dict[str, Callable[[Any, FeatureGates, str, ConfigFaults], core.PluginArgs]] = {
    "VolumeBinding": _read_volume_binding,
    "DynamicResources": _read_dynamic_resources,
}
