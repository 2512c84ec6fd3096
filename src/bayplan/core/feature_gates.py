"""Feature gates that change what the scheduler decides or shows, as plugins, the cache and pages are built with them.

One immutable value that a configuration gives to all who read it; nobody looks a gate up anywhere else. Which names and
combinations are valid is checked in `bayplan.config.feature_gates`. What changed between Kubernetes versions without a
gate comes along, as `release`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.core.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureGates:
    """A field for each gate with an effect, by its name in snake case."""

    component_flagz: bool
    component_statusz: bool
    dra_consumable_capacity: bool
    dra_device_binding_conditions: bool
    dra_device_taint_rules: bool
    dra_device_taints: bool
    dra_extended_resource: bool
    dra_fractional_capacity_range: bool
    dra_list_type_attributes: bool
    dra_partitionable_devices: bool
    dra_prioritized_list: bool
    dra_resource_claim_device_status: bool
    dra_scheduler_filter_timeout: bool
    dra_workload_resource_claims: bool
    generic_workload: bool
    in_place_pod_level_resources_vertical_scaling: bool
    match_label_keys_in_pod_topology_spread: bool
    node_declared_features: bool
    nominated_node_name_for_expectation: bool
    pod_group_preemption_policy: bool
    pod_level_resources: bool
    scheduler_pop_from_backoff_q: bool
    storage_capacity_scoring: bool
    taint_toleration_comparison_operators: bool
    topology_aware_workload_scheduling: bool
    volume_limit_scaling: bool
    workload_with_job: bool
    release: Release

    @property
    def binds_devices_by_conditions(self) -> bool:
        """Whether a pod waits until its devices are prepared: both gates are needed."""
        return self.dra_device_binding_conditions and self.dra_resource_claim_device_status

    @property
    def allocates_as_before(self) -> bool:
        """Whether upstream's older allocator will do, which knows neither wanted capacity nor `distinctAttribute`."""
        return not self.dra_consumable_capacity and not self.binds_devices_by_conditions
