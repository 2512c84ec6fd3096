"""Feature gates that change what the scheduler decides or shows, as plugins, the cache and pages are built with them.

One immutable value that a configuration gives to all who read it; nobody looks a gate up anywhere else. The defaults
are those of v1.36. Which names and combinations are valid is checked in `bayplan.config.feature_gates`. What changed
between Kubernetes versions without a gate comes along, as `release`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.core.release import V1_36, Release


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """A field for each gate with an effect, by its name in snake case."""

    component_flagz: bool = True
    component_statusz: bool = True
    dra_consumable_capacity: bool = True
    dra_device_binding_conditions: bool = True
    dra_device_taint_rules: bool = False
    dra_device_taints: bool = True
    dra_extended_resource: bool = True
    dra_fractional_capacity_range: bool = False
    dra_list_type_attributes: bool = False
    dra_partitionable_devices: bool = True
    dra_prioritized_list: bool = True
    dra_resource_claim_device_status: bool = True
    dra_scheduler_filter_timeout: bool = True
    generic_workload: bool = False
    in_place_pod_level_resources_vertical_scaling: bool = True
    match_label_keys_in_pod_topology_spread: bool = True
    node_declared_features: bool = True
    nominated_node_name_for_expectation: bool = True
    pod_group_preemption_policy: bool = False
    pod_level_resources: bool = True
    scheduler_pop_from_backoff_q: bool = True
    storage_capacity_scoring: bool = False
    taint_toleration_comparison_operators: bool = False
    topology_aware_workload_scheduling: bool = False
    volume_limit_scaling: bool = False
    release: Release = V1_36

    @property
    def binds_devices_by_conditions(self) -> bool:
        """Whether a pod waits until its devices are prepared: both gates are needed."""
        return self.dra_device_binding_conditions and self.dra_resource_claim_device_status

    @property
    def allocates_as_before(self) -> bool:
        """Whether upstream's older allocator will do, which knows neither wanted capacity nor `distinctAttribute`."""
        return not self.dra_consumable_capacity and not self.binds_devices_by_conditions


DEFAULT_GATES: Final = FeatureGates()
