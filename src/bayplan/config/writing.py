"""A configuration as the text of a file, with every default written out, as `kube-scheduler --write-config-to` does.

Takes a `Configuration`; gives YAML that reads back to the same. Names and order are upstream's, fields it leaves out
when they are empty are left out. Writes no file.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import yaml

from bayplan.config.loading import Configuration, ProfileSpec
from bayplan.config.merge import MULTI_POINT, merge_plugin_sets
from bayplan.config.releases import RELEASES, default_plugins
from bayplan.config.schema import API_VERSION, KubeSchedulerProfile, PluginSet
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework import args as core
from bayplan.model.durations import Duration, format_duration


def configuration_text(configuration: Configuration) -> str:
    """The YAML of a file that says the same."""
    text: str = yaml.safe_dump(configuration_document(configuration), sort_keys=True, default_flow_style=False)
    return text


def configuration_document(configuration: Configuration) -> dict[str, Any]:
    """The configuration as plain data."""
    file = configuration.file
    document: dict[str, Any] = _plain(file)
    document["enableContentionProfiling"] = file.enable_contention_profiling is not False
    document["percentageOfNodesToScore"] = file.percentage_of_nodes_to_score or 0
    document["profiles"] = [
        _profile(profile, spec, configuration.gates)
        for profile, spec in zip(file.profiles, configuration.profiles, strict=True)
    ]
    if file.extenders:
        document["extenders"] = [_without_zeros(_plain(extender)) for extender in file.extenders]
    else:
        del document["extenders"]
    if not file.delay_cache_until_active:
        del document["delayCacheUntilActive"]
    return document


def _plain(value: Any) -> Any:
    """Structs as maps under the names of the file."""
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, msgspec.Struct):
        return {info.encode_name: _plain(getattr(value, info.name)) for info in msgspec.structs.fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _without_zeros(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    return {name: _without_zeros(value) for name, value in plain.items() if value not in (None, "", 0, False, [])}


def _profile(profile: KubeSchedulerProfile, spec: ProfileSpec, gates: FeatureGates) -> dict[str, Any]:
    points = RELEASES[gates.release.version].extension_points
    plugins = {point: _plugin_set(profile.plugins.at(point)) for point in points}
    plugins[MULTI_POINT] = _plugin_set(merge_plugin_sets(default_plugins(gates), profile.plugins.multi_point))
    written: dict[str, Any] = {
        "schedulerName": spec.scheduler_name,
        "plugins": plugins,
        "pluginConfig": [{"name": name, "args": args} for name, args in sorted(_all_args(spec, gates).items())],
    }
    if spec.percentage_of_nodes_to_score is not None:
        written["percentageOfNodesToScore"] = spec.percentage_of_nodes_to_score
    return written


def _plugin_set(given: PluginSet) -> dict[str, Any]:
    return {name: plugins for name, plugins in _plain(given).items() if plugins}


def _all_args(spec: ProfileSpec, gates: FeatureGates) -> dict[str, Any]:
    called = {name for names in spec.plugins.values() for name in names}
    found: dict[str, Any] = {}
    for name, args in spec.args.items():
        if name in spec.configured or name in called:
            found[name] = _args(name, args, gates)
    return found


def _args(name: str, args: Any, gates: FeatureGates) -> Any:
    write = _WRITERS.get(type(args))
    if write is None:  # of a plugin from outside
        return args
    return {"apiVersion": API_VERSION, "kind": f"{name}Args", **write(args, gates)}


def _fit(args: core.NodeResourcesFitArgs, _: FeatureGates) -> dict[str, Any]:
    strategy = args.scoring_strategy
    scoring: dict[str, Any] = {"type": strategy.type, "resources": _weights(strategy.resources)}
    if strategy.shape:
        scoring["requestedToCapacityRatio"] = {"shape": _shape(strategy.shape)}
    ignored = {"ignoredResources": args.ignored_resources, "ignoredResourceGroups": args.ignored_resource_groups}
    return {"scoringStrategy": scoring, **{field: sorted(names) for field, names in ignored.items() if names}}


def _weights(resources: tuple[core.ResourceWeight, ...]) -> list[dict[str, Any]]:
    return [{"name": resource.name, "weight": resource.weight} for resource in resources]


def _shape(points: tuple[core.ShapePoint, ...]) -> list[dict[str, Any]]:
    return [{"utilization": point.utilization, "score": point.score} for point in points]


def _affinity(args: core.InterPodAffinityArgs, _: FeatureGates) -> dict[str, Any]:
    return {
        "hardPodAffinityWeight": args.hard_pod_affinity_weight,
        "ignorePreferredTermsOfExistingPods": args.ignore_preferred_terms_of_existing_pods,
    }


def _node_affinity(args: core.NodeAffinityArgs, _: FeatureGates) -> dict[str, Any]:
    return {} if args.added_affinity is None else {"addedAffinity": msgspec.to_builtins(args.added_affinity)}


def _spread(args: core.PodTopologySpreadArgs, _: FeatureGates) -> dict[str, Any]:
    written: dict[str, Any] = {"defaultingType": args.defaulting_type}
    if args.defaulting_type == core.LIST_DEFAULTING and args.default_constraints:
        written["defaultConstraints"] = [msgspec.to_builtins(constraint) for constraint in args.default_constraints]
    return written


def _volume_binding(args: core.VolumeBindingArgs, gates: FeatureGates) -> dict[str, Any]:
    shape = {"shape": _shape(args.shape)} if gates.storage_capacity_scoring else {}
    return {"bindTimeoutSeconds": args.bind_timeout_seconds, **shape}


def _dynamic_resources(args: core.DynamicResourcesArgs, gates: FeatureGates) -> dict[str, Any]:
    written = {}
    if gates.dra_scheduler_filter_timeout:
        written["filterTimeout"] = format_duration(args.filter_timeout_ns)
    if gates.binds_devices_by_conditions:
        written["bindingTimeout"] = format_duration(args.binding_timeout_ns)
    return written


def _preemption(args: core.DefaultPreemptionArgs, _: FeatureGates) -> dict[str, Any]:
    return {
        "minCandidateNodesPercentage": args.min_candidate_nodes_percentage,
        "minCandidateNodesAbsolute": args.min_candidate_nodes_absolute,
    }


_WRITERS: Mapping[type, Callable[[Any, FeatureGates], dict[str, Any]]] = {
    core.NodeResourcesFitArgs: _fit,
    core.NodeResourcesBalancedAllocationArgs: lambda args, _: {"resources": _weights(args.resources)},
    core.InterPodAffinityArgs: _affinity,
    core.NodeAffinityArgs: _node_affinity,
    core.PodTopologySpreadArgs: _spread,
    core.VolumeBindingArgs: _volume_binding,
    core.DynamicResourcesArgs: _dynamic_resources,
    core.DefaultPreemptionArgs: _preemption,
}
