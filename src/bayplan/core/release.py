"""How the kube-schedulers of two Kubernetes versions differ where no feature gate decides it.

One frozen value, with a field for each such change; policy code reads fields and never compares versions. It travels
with the feature gates, so whoever has those has it. Upstream's default gates and plugins of each version are in
`bayplan.config.releases`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A minor version of Kubernetes, as far as its scheduler behaves in its own way."""

    version: str  # "1.36"

    # Messages.
    says_nothing_to_deallocate: bool  # DynamicResources gives a reason even if PostFilter had nothing to do
    reports_preemption: bool  # a preemption that found victims says so in the pod's message
    names_device_in_errors: bool  # a selector that fails is reported with the device it failed on

    # Filters and scores.
    node_name_narrows: bool  # NodeName's PreFilter leaves only the named node
    counts_resize_by_pod: bool  # what a pod in resize holds is the largest of three totals, not a total of maxima
    image_volumes_earn: bool  # ImageLocality's upper limit grows with each image volume
    merges_namespace_selector: bool  # the incoming pod's namespace selectors mean the namespaces they select, no more

    # Devices.
    devices_of_a_request_differ: bool  # distinctAttribute holds between devices of one request as well
    all_means_all_with_room: bool  # a device that has too little left fails a request for all, and is not left out
    checks_capacity: bool  # a capacity that is negative, or too large to compute with, ends the attempt
    counts_shares_without_capacity: bool  # one who shares a device and takes none of its capacity uses its counters
    skipped_operations_need_nodes: bool  # that declare it, or claims whose devices skip some are of no use there
    counter_slices_follow_nodes: bool  # slices with counters concern only nodes that they are for
    configures_briefly: bool  # an allocation has each configuration once, and no requests in one that is for all
    selectors_know_lists: bool  # whether or not the gate for attributes with lists is on

    # Preemption.
    first_broken_budget_ends: bool  # a pod that breaks a budget spends nothing of those after it, by name
    gated_pods_keep_nodes: bool  # a nomination counts while PreEnqueue holds the pod back

    # Wake-ups.
    any_taint_change_wakes: bool  # pods of plugins that wait for new nodes but not for taints
    one_anti_affinity_term_wakes: bool  # a pod counts if it meets one term of several, not only if it meets all
    deleted_claims_wake: bool  # a ResourceClaim that is deleted gives its devices back


V1_36: Final = Release(
    version="1.36",
    says_nothing_to_deallocate=True,
    reports_preemption=False,
    names_device_in_errors=False,
    node_name_narrows=False,
    counts_resize_by_pod=False,
    image_volumes_earn=False,
    merges_namespace_selector=False,
    devices_of_a_request_differ=False,
    all_means_all_with_room=False,
    checks_capacity=False,
    counts_shares_without_capacity=False,
    skipped_operations_need_nodes=False,
    counter_slices_follow_nodes=False,
    configures_briefly=False,
    selectors_know_lists=False,
    first_broken_budget_ends=False,
    gated_pods_keep_nodes=False,
    any_taint_change_wakes=True,
    one_anti_affinity_term_wakes=False,
    deleted_claims_wake=False,
)
V1_37: Final = Release(
    version="1.37",
    says_nothing_to_deallocate=False,
    reports_preemption=True,
    names_device_in_errors=True,
    node_name_narrows=True,
    counts_resize_by_pod=True,
    image_volumes_earn=True,
    merges_namespace_selector=True,
    devices_of_a_request_differ=True,
    all_means_all_with_room=True,
    checks_capacity=True,
    counts_shares_without_capacity=True,
    skipped_operations_need_nodes=True,
    counter_slices_follow_nodes=True,
    configures_briefly=True,
    selectors_know_lists=True,
    first_broken_budget_ends=True,
    gated_pods_keep_nodes=True,
    any_taint_change_wakes=False,
    one_anti_affinity_term_wakes=True,
    deleted_claims_wake=True,
)
