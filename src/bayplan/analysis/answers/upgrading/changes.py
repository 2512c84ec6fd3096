"""What differs between the schedulers of two versions, each change with its plugin and a sentence for users.

`CHANGES` has all that versions differ in, by the field of `Release`; gates whose defaults differ come from the versions
themselves. `mixed` makes a scheduler in between, which has some of the changes and not the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

from bayplan.config.feature_gates import GATE_FIELDS
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.release import Release


@dataclass(frozen=True, slots=True)
class Described:
    """A field of `Release` in words: what the plugin does if it holds, and what otherwise."""

    plugin: str
    if_so: str
    if_not: str
    over_time: bool = False  # it concerns when pods are tried again, and no decision about one


CHANGES: Final[Mapping[str, Described]] = MappingProxyType(
    {
        "says_nothing_to_deallocate": Described(
            "DynamicResources",
            'messages say "no new claims to deallocate" or "still not schedulable" if no claim was given back',
            'messages no longer say "no new claims to deallocate" or "still not schedulable"',
        ),
        "reports_preemption": Described(
            "DefaultPreemption",
            "the message of a pod that preempts names the node and the number of victims",
            "the message of a pod that preempts does not mention the preemption",
        ),
        "names_device_in_errors": Described(
            "DynamicResources",
            "an error of a CEL selector names the device it failed on",
            "an error of a CEL selector does not name the device",
        ),
        "node_name_narrows": Described(
            "NodeName",
            "runs before NodeUnschedulable, and leaves out all nodes but the one named in spec.nodeName",
            "runs after NodeUnschedulable, and tests spec.nodeName on every node",
        ),
        "counts_resize_by_pod": Described(
            "NodeResourcesFit",
            "a pod in the middle of a resize counts with the largest of three totals: wanted, allocated, in use",
            "a pod in the middle of a resize counts with the largest value of each container, added up",
        ),
        "image_volumes_earn": Described(
            "ImageLocality",
            "image volumes count as images, so that their size no longer adds more than that of others",
            "image volumes do not count as images, though their size does",
        ),
        "merges_namespace_selector": Described(
            "InterPodAffinity",
            "a namespaceSelector of the pod means the namespaces that it selects, and no others",
            "a namespaceSelector of the pod with NotIn or DoesNotExist matches pods of every namespace",
        ),
        "devices_of_a_request_differ": Described(
            "DynamicResources",
            "distinctAttribute also holds between devices of one request",
            "distinctAttribute holds only between devices of different requests",
        ),
        "all_means_all_with_room": Described(
            "DynamicResources",
            "a request for all devices fails if one of them has too little capacity left",
            "a request for all devices leaves out those with too little capacity left",
        ),
        "checks_capacity": Described(
            "DynamicResources",
            "a capacity that is negative or too large ends the attempt with an error",
            "capacities are not checked",
        ),
        "counts_shares_without_capacity": Described(
            "DynamicResources",
            "a share of a device without any capacity counts once against shared counters",
            "a share of a device without any capacity does not count against shared counters",
        ),
        "skipped_operations_need_nodes": Described(
            "DynamicResources",
            "an allocated claim with devices that skip node operations needs nodes that declare this feature",
            "an allocated claim with devices that skip node operations can be used on any node",
        ),
        "counter_slices_follow_nodes": Described(
            "DynamicResources",
            "slices with shared counters concern only the nodes that they are for",
            "slices with shared counters concern all nodes",
        ),
        "configures_briefly": Described(
            "DynamicResources",
            "an allocation has each configuration once, and names no requests in one that is for all of them",
            "an allocation has a configuration for each request that it is for, and always names them",
        ),
        "selectors_know_lists": Described(
            "DynamicResources",
            "CEL selectors know attributes with lists, whatever the gate DRAListTypeAttributes says",
            "CEL selectors know attributes with lists only with the gate DRAListTypeAttributes",
        ),
        "first_broken_budget_ends": Described(
            "DefaultPreemption",
            "a victim that violates one PodDisruptionBudget uses up nothing of the later ones",
            "a victim uses up all PodDisruptionBudgets that match it",
        ),
        "gated_pods_keep_nodes": Described(
            "DefaultPreemption",
            "a pod with scheduling gates keeps the node it is nominated to",
            "a pod with scheduling gates does not keep the node it is nominated to",
        ),
        "any_taint_change_wakes": Described(
            "scheduling queue",
            "a changed taint wakes the waiting pods of most plugins",
            "a changed taint wakes only pods that were rejected because of taints",
            over_time=True,
        ),
        "one_anti_affinity_term_wakes": Described(
            "InterPodAffinity",
            "a pod that goes wakes others if it matches one of their anti-affinity terms",
            "a pod that goes wakes others only if it matches all of their anti-affinity terms",
            over_time=True,
        ),
        "deleted_claims_wake": Described(
            "DynamicResources",
            "a deleted ResourceClaim wakes pods that wait for devices",
            "a deleted ResourceClaim wakes nobody",
            over_time=True,
        ),
    }
)

#: What gates do whose defaults have changed: the plugin, with the gate, without it.
_GATES: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "DRADeviceTaintRules": (
            "DynamicResources",
            "devices have the taints of DeviceTaintRules",
            "DeviceTaintRules have no effect",
        ),
        "DRAFractionalCapacityRange": (
            "DynamicResources",
            "ranges of capacity may have fractions",
            "ranges of capacity are rounded to whole numbers",
        ),
        "StorageCapacityScoring": (
            "VolumeBinding",
            "nodes are scored by their free storage capacity",
            "nodes are not scored by their free storage capacity",
        ),
        "VolumeLimitScaling": (
            "NodeVolumeLimits",
            "nodes without a CSI driver are left out if the driver asks for it",
            "nodes without a CSI driver are not left out",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One thing that the scheduler of the other version does otherwise."""

    field: str  # of `Release` or of `FeatureGates`
    plugin: str
    text: str  # what the other version does
    gate: str = ""  # the feature gate that switches it
    over_time: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"plugin": self.plugin, "change": self.text, "gate": self.gate or None}


def changes_between(before: FeatureGates, after: FeatureGates) -> list[VersionChange]:
    """All of them; those in messages come first, as most pods that differ do so for their sake."""
    found = [
        VersionChange(name, words.plugin, words.if_so if value else words.if_not, over_time=words.over_time)
        for name, words in CHANGES.items()
        if (value := getattr(after.release, name)) is not getattr(before.release, name)
    ]
    for gate, name in GATE_FIELDS.items():
        if (is_on := getattr(after, name)) is not getattr(before, name):
            plugin, if_on, if_off = _GATES.get(gate, ("", f"{gate} is on", f"{gate} is off"))
            found.append(VersionChange(name, plugin, if_on if is_on else if_off, gate))
    return found


def mixed(before: FeatureGates, after: FeatureGates, switched: Iterable[str]) -> FeatureGates:
    """The scheduler before, with these changes (by field) of the one after."""
    of_release = {each.name for each in fields(Release)}
    chosen = set(switched)
    release = replace(before.release, **{name: getattr(after.release, name) for name in chosen & of_release})
    if "node_name_narrows" in chosen:  # it goes with the order of the default plugins, which is found by version
        release = replace(release, version=after.release.version)
    return replace(before, **{name: getattr(after, name) for name in chosen - of_release}, release=release)
