"""What must hold of a whole configuration: ranges, profiles that go together, extenders.

Takes the decoded file, with defaults applied, reports what kube-scheduler refuses to start with. Plugin
args are checked in `args`, plugin names and orders in `merge`.
"""

from __future__ import annotations

from bayplan.config.defaults import EXTENSION_POINTS, REMOVED_PLUGINS
from bayplan.config.faults import ConfigFaults
from bayplan.config.schema import (
    API_VERSION,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginConfig,
)
from bayplan.model.names import extended_resource_faults

_REMOVED_DETAIL = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def check_configuration(configuration: KubeSchedulerConfiguration, faults: ConfigFaults) -> None:
    """Report everything wrong with the configuration apart from plugin args and plugin names."""
    if configuration.client_connection.burst < 0:
        faults.invalid("clientConnection.burst", configuration.client_connection.burst, "must be non-negative")
    _check_leader_election(configuration.leader_election, "leaderElection", faults)
    if configuration.parallelism <= 0:
        faults.invalid("parallelism", configuration.parallelism, "should be an integer value greater than zero")
    _check_percentage(configuration.percentage_of_nodes_to_score, "percentageOfNodesToScore", faults)
    _check_backoff(configuration, faults)
    _check_profiles(configuration.profiles, "profiles", faults)
    _check_extenders(configuration.extenders, "extenders", faults)


def _check_leader_election(election: LeaderElection, path: str, faults: ConfigFaults) -> None:
    if not election.leader_elect:
        return
    for field, nanoseconds in (
        ("leaseDuration", election.lease_duration_ns),
        ("renewDeadline", election.renew_deadline_ns),
        ("retryPeriod", election.retry_period_ns),
    ):
        if nanoseconds <= 0:
            faults.add(f"{path}.{field}", "must be greater than zero")
    if election.lease_duration_ns <= election.renew_deadline_ns:
        faults.add(f"{path}.leaseDuration", "LeaseDuration must be greater than RenewDeadline")
    if election.resource_lock != "leases":
        detail = 'resourceLock value must be "leases"'
        faults.invalid(f"{path}.resourceLock", election.resource_lock, detail)


def _check_percentage(percentage: int | None, path: str, faults: ConfigFaults) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        faults.invalid(path, percentage, "not in valid range [0-100]")


def _check_backoff(configuration: KubeSchedulerConfiguration, faults: ConfigFaults) -> None:
    initial, highest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if initial <= 0:
        faults.invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if highest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        faults.invalid("podMaxBackoffSeconds", highest, detail)


def _check_profiles(profiles: tuple[KubeSchedulerProfile, ...], path: str, faults: ConfigFaults) -> None:
    seen: set[str] = set()
    for position, profile in enumerate(profiles):
        profile_path = f"{path}[{position}]"
        name = profile.scheduler_name or ""
        if not name:
            faults.required(f"{profile_path}.schedulerName")
        elif name in seen:
            faults.duplicate(f"{profile_path}.schedulerName", name)
        seen.add(name)
        _check_percentage(profile.percentage_of_nodes_to_score, f"{profile_path}.percentageOfNodesToScore", faults)
        _check_removed_plugins(profile, profile_path, faults)
        _check_plugin_config_names(profile.plugin_config, f"{profile_path}.pluginConfig", faults)
    _check_common_queue_sort(profiles, path, faults)


def _check_removed_plugins(profile: KubeSchedulerProfile, path: str, faults: ConfigFaults) -> None:
    for point in EXTENSION_POINTS:
        enabled_path = f"{path}.plugins.{point}.enabled"
        for position, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in REMOVED_PLUGINS:
                faults.invalid(f"{enabled_path}[{position}]", plugin.name, _REMOVED_DETAIL)


def _check_plugin_config_names(entries: tuple[PluginConfig, ...], path: str, faults: ConfigFaults) -> None:
    seen: set[str] = set()
    for position, entry in enumerate(entries):
        if entry.name in seen:
            faults.duplicate(f"{path}[{position}]", entry.name)
        if entry.name in REMOVED_PLUGINS:
            faults.invalid(f"{path}[{position}]", entry.name, _REMOVED_DETAIL)
        seen.add(entry.name)


def _check_common_queue_sort(profiles: tuple[KubeSchedulerProfile, ...], path: str, faults: ConfigFaults) -> None:
    """All profiles share one queue, hence its order."""
    first = profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        enabled_path = f"{path}[0].plugins.queueSort.enabled"
        faults.invalid(enabled_path, len(first.enabled), "only one queue sort plugin can be enabled")
    sorter = first.enabled[0].name if first.enabled else ""
    for position, profile in enumerate(profiles[1:], start=1):
        profile_path = f"{path}[{position}]"
        if profile.plugins.queue_sort != first:
            sort_path = f"{profile_path}.plugins.queueSort"
            faults.add(sort_path, "must be the same for all profiles")
        if sorter and _args_of(sorter, profile) not in (None, _args_of(sorter, profiles[0])):
            faults.add(f"{profile_path}.pluginConfig", "args of queueSort must be the same for all profiles")


def _args_of(name: str, profile: KubeSchedulerProfile) -> object:
    return next((entry.args for entry in profile.plugin_config if entry.name == name), None)


def _check_extenders(extenders: tuple[Extender, ...], path: str, faults: ConfigFaults) -> None:
    managed: set[str] = set()
    for position, extender in enumerate(extenders):
        extender_path = f"{path}[{position}]"
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            faults.invalid(f"{extender_path}.weight", extender.weight, detail)
        for index, resource in enumerate(extender.managed_resources):
            name_path = f"{extender_path}.managedResources[{index}].name"
            for error in extended_resource_faults(resource.name):
                faults.invalid(name_path, resource.name, error)
            if resource.name in managed:
                faults.invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        faults.invalid(path, found, "only one extender can implement bind")
