"""A KubeSchedulerConfiguration from a file or a dict to the `Configuration` a scheduler is built from.

Takes YAML or JSON of version `kubescheduler.config.k8s.io/v1`; gives profiles with their plugins in calling
order, weights and typed args, and the settings of the process. Raises `InvalidObject` with every fault
found. Of plugins only those from outside are built here, because what they make of their args is part of reading the
file; which points a built-in plugin implements is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from bayplan.config.args import DEFAULT_ARGS, read_args
from bayplan.config.decoding import decode_struct
from bayplan.config.defaults import EXTENSION_POINTS, GROUP_EXTENSION_POINTS
from bayplan.config.document import read_document
from bayplan.config.faults import CONFIGURATION_KIND, ConfigFaults
from bayplan.config.feature_gates import GateSettings, changed_gates, read_feature_gates
from bayplan.config.merge import MULTI_POINT, expand_plugins
from bayplan.config.own_settings import read_own_settings
from bayplan.config.plugin_loading import PluginClass, PluginError, find_plugin
from bayplan.config.releases import KubernetesRelease, default_plugins, implemented_points, release_of
from bayplan.config.schema import (
    API_VERSION,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
)
from bayplan.config.validation import check_configuration
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import NodeResourcesFitArgs
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.queue import PARKED_MAX_NS
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME

#: A file, what such a file holds, or None for the defaults.
ConfigSource: TypeAlias = str | Path | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ProfileSpec:
    """What a profile is built from.

    `plugins` has the names to call, in order, under each extension point of `defaults`; `args` has the
    typed args of every plugin that has some, and plain data for others that were given any.
    """

    scheduler_name: str
    plugins: Mapping[str, tuple[str, ...]]
    score_weights: Mapping[str, int]
    args: Mapping[str, Any]
    percentage_of_nodes_to_score: int | None = None
    placement_weights: Mapping[str, int] = field(default_factory=dict)  # of plugins that score placements
    configured: frozenset[str] = frozenset()  # plugins that the file gives args for
    # Plugins that are not built in, by the file's name for them.
    outside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A valid configuration with all defaults, as far as decisions depend on it."""

    profiles: tuple[ProfileSpec, ...]
    percentage_of_nodes_to_score: int | None  # None: not set, every node counts; 0: adapt to the size as upstream
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    gates: FeatureGates
    wakeups: Wakeups = Wakeups.UPSTREAM
    safety: PreemptionSafety = UPSTREAM
    parked_max_ns: int = PARKED_MAX_NS  # a flag of kube-scheduler, and no part of its file
    # The whole file with its defaults, for those who run a scheduler. Configurations that decide the same are equal.
    file: KubeSchedulerConfiguration = field(default=KubeSchedulerConfiguration(), compare=False)
    # Gates by name that are not as the version has them, for those who serve its API: most are none of the scheduler's.
    changed_gates: Mapping[str, bool] = field(default_factory=dict, compare=False)

    @property
    def release(self) -> KubernetesRelease:
        """The version of Kubernetes whose scheduler this configures."""
        return release_of(self.gates)

    @property
    def client_connection(self) -> ClientConnection:
        return self.file.client_connection

    @property
    def leader_election(self) -> LeaderElection:
        return self.file.leader_election

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """In the order in which they are asked: those that a pod can do without come last."""
        # Upstream: pkg/scheduler/scheduler.go buildExtenders (v1.36).
        return tuple(sorted(self.file.extenders, key=lambda extender: extender.ignorable))


def load_configuration(
    source: ConfigSource = None,
    feature_gates: GateSettings | FeatureGates = None,
    implements: Mapping[str, frozenset[str]] | None = None,
    *,
    release: KubernetesRelease,
    overrides: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    parked_max_ns: int = PARKED_MAX_NS,
    safety: PreemptionSafety = UPSTREAM,
    with_groups: bool = False,
) -> Configuration:
    """The configuration in a file or dict, or the default one, of a Kubernetes version.

    `implements` names the plugins there are; by default those of that version. Gates that have been read, as
    `FeatureGates`, are those of the release.

    `overrides` has fields of the file's objects (`{"leaderElection": {"leaderElect": False}}`) that flags set. `safety`
    holds where the file does not limit preemption itself. `with_groups` says that the caller decides on pod groups.

    Raises FeatureGateError for gates that cannot be set so.
    """
    if isinstance(feature_gates, FeatureGates):
        gates, changed = feature_gates, {}
    else:
        gates = read_feature_gates(feature_gates, release, with_groups=with_groups)
        changed = changed_gates(feature_gates, release)
    implements = implemented_points(gates) if implements is None else implements
    faults = ConfigFaults(str(source) if isinstance(source, str | Path) else "")
    file = _with_defaults(_read_file(source, overrides, release, faults))
    check_configuration(file, faults)
    ignored = _resources_left_to_extenders(file.extenders)
    folder = Path(source).parent if isinstance(source, str | Path) else Path()
    profiles = tuple(
        _profile_spec(profile, ignored, implements, folder, gates, f"profiles[{position}]", faults)
        for position, profile in enumerate(file.profiles)
    )
    own = read_own_settings(file.profiles, safety, faults)
    faults.raise_if_any()
    return Configuration(
        profiles=profiles,
        percentage_of_nodes_to_score=file.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=file.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=file.pod_max_backoff_seconds,
        wakeups=own.wakeups,
        gates=gates,
        safety=own.safety,
        parked_max_ns=parked_max_ns,
        file=file,
        changed_gates=changed,
    )


def _read_file(
    source: ConfigSource,
    overrides: Mapping[str, Mapping[str, Any]],
    release: KubernetesRelease,
    faults: ConfigFaults,
) -> KubeSchedulerConfiguration:
    if source is None:
        source = {"apiVersion": API_VERSION, "kind": CONFIGURATION_KIND}
    data = dict(source) if isinstance(source, Mapping) else read_document(Path(source), faults)
    for part, fields in overrides.items():
        data[part] = {**(data.get(part) or {}), **fields}
    _check_version(data, faults)
    _refuse_later_points(data, release, faults)
    # Fields of another kind or version would only give faults that mislead.
    faults.raise_if_any()
    return decode_struct(KubeSchedulerConfiguration, data, "", faults)


def _refuse_later_points(data: Mapping[str, Any], release: KubernetesRelease, faults: ConfigFaults) -> None:
    """Extension points that this version's file does not have; what is malformed is reported by decoding."""
    profiles = data.get("profiles")
    for position, profile in enumerate(profiles if isinstance(profiles, list) else ()):
        plugins = profile.get("plugins") if isinstance(profile, dict) else None
        for point in GROUP_EXTENSION_POINTS:
            if isinstance(plugins, dict) and point in plugins and point not in release.extension_points:
                faults.add(f"profiles[{position}].plugins.{point}", "unknown field")


def _check_version(data: Mapping[str, Any], faults: ConfigFaults) -> None:
    if data.get("apiVersion") != API_VERSION:
        faults.unsupported("apiVersion", data.get("apiVersion"), (API_VERSION,))
    if data.get("kind") != CONFIGURATION_KIND:
        faults.unsupported("kind", data.get("kind"), (CONFIGURATION_KIND,))


def _with_defaults(file: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The defaults that depend on other fields, or that stand in for a zero value that would be refused."""
    connection = file.client_connection
    return msgspec.structs.replace(
        file,
        profiles=_default_profiles(file.profiles),
        leader_election=_without_zeros(file.leader_election),
        # Unlike upstream, whose 0 is the default as well: no other value says that there is no limit.
        client_connection=msgspec.structs.replace(_without_zeros(connection), qps=connection.qps),
    )


def _default_profiles(profiles: tuple[KubeSchedulerProfile, ...]) -> tuple[KubeSchedulerProfile, ...]:
    profiles = profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        return (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    return profiles


def _without_zeros(part: Any) -> Any:
    """The part with its default wherever it says 0 or "", which upstream cannot tell from nothing."""
    defaults = type(part)()
    zeros = {
        name: getattr(defaults, name)
        for name in part.__struct_fields__
        if not isinstance(getattr(part, name), bool) and not getattr(part, name)
    }
    return msgspec.structs.replace(part, **zeros)


def _resources_left_to_extenders(extenders: tuple[Extender, ...]) -> frozenset[str]:
    return frozenset(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def _profile_spec(
    profile: KubeSchedulerProfile,
    ignored_resources: frozenset[str],
    implements: Mapping[str, frozenset[str]],
    folder: Path,
    gates: FeatureGates,
    path: str,
    faults: ConfigFaults,
) -> ProfileSpec:
    name = profile.scheduler_name or ""
    outside = _Outside(profile, implements, folder, path, faults)
    points = {**implements, **outside.points}
    expanded = expand_plugins(profile.plugins, default_plugins(gates), points, name, f"{path}.plugins", faults)
    return ProfileSpec(
        scheduler_name=name,
        plugins=expanded.by_point,
        score_weights=expanded.score_weights,
        placement_weights=expanded.placement_weights,
        args=_args(profile, ignored_resources, gates, path, faults),
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        configured=frozenset(entry.name for entry in profile.plugin_config),
        outside=outside.build(),
    )


class _Outside:
    """The plugins of one profile that are not built in."""

    def __init__(
        self,
        profile: KubeSchedulerProfile,
        implements: Mapping[str, frozenset[str]],
        folder: Path,
        path: str,
        faults: ConfigFaults,
    ) -> None:
        self._profile, self._path, self._faults = profile, path, faults
        self._taken = set(implements)  # names that a plugin may not give itself
        self._found: dict[str, tuple[str, PluginClass]] = {}  # with the field that names each first
        self.points: dict[str, frozenset[str]] = {}
        for name, places in _named_at(profile, path).items():
            if name not in implements:
                self._find(name, places, folder)

    def _find(self, name: str, places: Mapping[str, str], folder: Path) -> None:
        where = next(iter(places.values()))
        try:
            found = find_plugin(name, folder)
        except PluginError as error:
            self._faults.invalid(where, name, str(error))
            # The fault is told; where it was named it counts as known, so that it is not told again.
            self.points[name] = frozenset(places) - {MULTI_POINT}
            return
        if found is not None:
            self._found[name] = (where, found)
            self.points[name] = found.points

    def build(self) -> dict[str, Any]:
        """An instance of each."""
        built: dict[str, Any] = {}
        for name, (where, plugin_class) in self._found.items():
            own_name = plugin_class.make.name
            if own_name in self._taken:
                self._faults.invalid(where, name, f'another plugin in this profile is already named "{own_name}"')
            self._taken.add(own_name)
            plugin = self._build(name, where, plugin_class)
            if plugin is not None:
                built[name] = plugin
        return built

    def _build(self, name: str, where: str, plugin_class: PluginClass) -> Any:
        """None after a fault. A plugin that the file gives args gets them as they are, any other gets none."""
        given: list[Any] = []
        for position, entry in enumerate(self._profile.plugin_config):
            if entry.name == name:
                where = f"{self._path}.pluginConfig[{position}].args"
                given = [{} if entry.args is None else entry.args]
        if given and not isinstance(given[0], dict):
            self._faults.add(where, "expected object")
            return None
        try:
            return plugin_class.build(*given)
        except PluginError as error:
            self._faults.add(where, str(error))
            return None


def _named_at(profile: KubeSchedulerProfile, path: str) -> dict[str, dict[str, str]]:
    """Each plugin that the file enables: the points where, and the field of each."""
    named: dict[str, dict[str, str]] = {}
    for point in (MULTI_POINT, *EXTENSION_POINTS, *GROUP_EXTENSION_POINTS):
        enabled_path = f"{path}.plugins.{point}.enabled"
        for position, plugin in enumerate(profile.plugins.at(point).enabled):
            named.setdefault(plugin.name, {}).setdefault(point, f"{enabled_path}[{position}]")
    return named


def _args(
    profile: KubeSchedulerProfile,
    ignored_resources: frozenset[str],
    gates: FeatureGates,
    path: str,
    faults: ConfigFaults,
) -> dict[str, Any]:
    args: dict[str, Any] = dict(DEFAULT_ARGS)
    for position, entry in enumerate(profile.plugin_config):
        args_path = f"{path}.pluginConfig[{position}].args"
        args[entry.name] = read_args(entry.name, entry.args, gates, args_path, faults)
    fit = args["NodeResourcesFit"]
    if ignored_resources and isinstance(fit, NodeResourcesFitArgs):
        # Extenders replace what the args say. Upstream: pkg/scheduler/scheduler.go buildExtenders (v1.36).
        args["NodeResourcesFit"] = replace(fit, ignored_resources=ignored_resources)
    return args
