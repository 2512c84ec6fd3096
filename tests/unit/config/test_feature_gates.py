"""Feature gates by name: which settings are accepted, and what the others are refused with."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from bayplan.config.feature_gates import (
    GATE_FIELDS,
    REFUSED,
    FeatureGateError,
    read_feature_gates,
)
from bayplan.config.known_gates import KNOWN_GATES
from bayplan.core.feature_gates import DEFAULT_GATES, FeatureGates

#: Gates that can be switched off only with those that need them.
WITH_OTHERS = {
    "DRADeviceTaints": "",
    "DRAResourceClaimDeviceStatus": "DRADeviceBindingConditions DRAResourceClaimGranularStatusAuthorization",
    "MatchLabelKeysInPodTopologySpread": "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    "NodeDeclaredFeatures": (
        "ExtendWebSocketsToKubelet InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers "
        "RestartAllContainersOnContainerExits"
    ),
    "PodLevelResources": "InPlacePodLevelResourcesVerticalScaling",
}

#: What kube-scheduler v1.36 asks for: plugins/feature/feature.go, everywhere else in pkg/scheduler, and its pages.
READ_BY_UPSTREAM = """
    ComponentFlagz ComponentStatusz
    DRAAdminAccess DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints
    DRAExtendedResource DRAListTypeAttributes DRANodeAllocatableResources DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout DRAWorkloadResourceClaims DynamicResourceAllocation
    GangScheduling GenericWorkload InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling
    MatchLabelKeysInPodTopologySpread NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread
    NominatedNodeNameForExpectation OpportunisticBatching PodLevelResources SchedulerAsyncAPICalls
    SchedulerAsyncPreemption SchedulerPopFromBackoffQ SchedulerQueueingHints SidecarContainers StorageCapacityScoring
    TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling VolumeAttributesClass VolumeLimitScaling
    WorkloadAwarePreemption
"""
PARITY = Path(__file__).resolve().parents[3] / "docs" / "parity.md"
ROW = re.compile(r"^\| (\w+) \| (on|off) \| (works|no effect|rejected|locked) \|", re.MULTILINE)


def test_the_table_of_the_docs_is_complete() -> None:
    """It names what the scheduler reads, with the default and what becomes of the other setting."""
    table = {name: (default, handling) for name, default, handling in ROW.findall(PARITY.read_text(encoding="utf-8"))}
    merged_by_the_api_server = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    assert set(table) == {*READ_BY_UPSTREAM.split(), merged_by_the_api_server}
    assert table == {name: ("on" if KNOWN_GATES[name].default else "off", handling_of(name)) for name in table}


def handling_of(name: str) -> str:
    if KNOWN_GATES[name].is_locked:
        return "locked"
    if name in REFUSED:
        return "rejected"
    return "works" if name in GATE_FIELDS else "no effect"


def test_every_field_is_a_gate_with_upstreams_default() -> None:
    assert set(GATE_FIELDS.values()) == {field.name for field in fields(FeatureGates)}
    assert {name: getattr(DEFAULT_GATES, field) for name, field in GATE_FIELDS.items()} == {
        name: KNOWN_GATES[name].default for name in GATE_FIELDS
    }


def test_a_gate_is_handled_in_one_way() -> None:
    handled = [*GATE_FIELDS, *REFUSED]
    assert len(handled) == len(set(handled))
    assert not [name for name in handled if name not in KNOWN_GATES or KNOWN_GATES[name].is_locked]


@pytest.mark.parametrize("name", GATE_FIELDS)
def test_a_gate_that_works_is_read_both_ways(name: str) -> None:
    default = KNOWN_GATES[name].default
    assert getattr(read_feature_gates({name: default}), GATE_FIELDS[name]) is default
    others = dict.fromkeys(WITH_OTHERS.get(name, "").split(), False)
    assert getattr(read_feature_gates({name: not default, **others}), GATE_FIELDS[name]) is not default


@pytest.mark.parametrize("name", REFUSED)
def test_the_default_is_accepted_and_the_opposite_refused_by_name(name: str) -> None:
    default = KNOWN_GATES[name].default
    assert read_feature_gates({name: default}) == DEFAULT_GATES
    needed = {"GenericWorkload": True, "GangScheduling": True, name: not default}
    with pytest.raises(FeatureGateError, match=f"{name}={str(not default).lower()} is not supported: "):
        read_feature_gates(needed)


@pytest.mark.parametrize("name", ["OpportunisticBatching", "SchedulerAsyncAPICalls", "HPAScaleToZero"])
def test_gates_that_change_no_decision_are_accepted(name: str) -> None:
    assert read_feature_gates({name: True}) == read_feature_gates({name: False}) == DEFAULT_GATES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nonsense=true", "unrecognized feature gate: Nonsense"),
        ("GangScheduling", "missing bool value for GangScheduling"),
        (
            "GangScheduling=maybe",
            'invalid value of GangScheduling=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            "SchedulerQueueingHints=false",
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
        ),
        (
            "GitRepoVolumeDriver=true,SidecarContainers=0",
            "[cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false, "
            "cannot set feature gate SidecarContainers to false, feature is locked to true]",
        ),
        (
            "MatchLabelKeysInPodTopologySpread=false",
            "MatchLabelKeysInPodTopologySpreadSelectorMerge is enabled, but depends on features that are disabled: "
            "[MatchLabelKeysInPodTopologySpread]",
        ),
        (
            "DRAWorkloadResourceClaims=true",
            "DRAWorkloadResourceClaims is enabled, but depends on features that are disabled: [GenericWorkload]",
        ),
        (
            "AllAlpha=true,DRANodeAllocatableResources=false,DRAWorkloadResourceClaims=false,GangScheduling=false,"
            "TopologyAwareWorkloadScheduling=false,WorkloadAwarePreemption=false",
            "GenericWorkload=true is not supported: bayplan schedules pods one by one, and has no pod groups",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(FeatureGateError) as refused:
        read_feature_gates(text)
    assert str(refused.value) == message


def test_values_of_a_mapping_are_booleans() -> None:
    with pytest.raises(FeatureGateError, match="invalid value of VolumeLimitScaling=true, expected true or false"):
        read_feature_gates({"VolumeLimitScaling": "true"})  # type: ignore[dict-item]


@pytest.mark.parametrize("text", ["", "GangScheduling=F,DynamicResourceAllocation=1", " GangScheduling = false ,"])
def test_defaults_are_accepted(text: str) -> None:
    assert read_feature_gates(text) == DEFAULT_GATES


def test_a_whole_stage_does_not_touch_gates_that_are_set_themselves() -> None:
    gates = read_feature_gates("AllBeta=false,DRAExtendedResource=true,SchedulerAsyncPreemption=true")
    assert not gates.node_declared_features
    assert gates.dra_extended_resource
    assert read_feature_gates("AllAlpha=false,AllBeta=true,DRADeviceTaintRules=false") == DEFAULT_GATES
