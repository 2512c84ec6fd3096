"""Feature gates by name: which settings are accepted, and what the others are refused with."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from bayplan.config.feature_gates import (
    DEFAULT_GATES,
    GATE_FIELDS,
    GROUP_GATES,
    REFUSED,
    FeatureGateError,
    read_feature_gates,
)
from bayplan.config.releases import RELEASES, KubernetesRelease
from bayplan.core.feature_gates import FeatureGates

OF_1_36, OF_1_37 = RELEASES["1.36"], RELEASES["1.37"]

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
NEW_IN_1_37 = """
    CompositePodGroup DRADerivedAttributes DRADeviceCompatibilityGroups DRAFractionalCapacityRange
    DRAOptionalNodeOperations InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
    PodGroupPreemptionPolicy SchedulerPreQueueingHints
"""
PARITY = Path(__file__).resolve().parents[3] / "docs" / "parity.md"
ROW = re.compile(r"^\| (\w+) \| (on|off) \| (works|no effect|rejected|locked) \|", re.MULTILINE)


def test_the_table_of_the_docs_is_complete() -> None:
    """It names what the scheduler reads, with the default and what becomes of the other setting."""
    table = tables()[0]
    merged_by_the_api_server = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    assert set(table) == {*READ_BY_UPSTREAM.split(), merged_by_the_api_server}
    assert table == {name: handling_of(name, OF_1_36) for name in table}


def test_the_table_of_1_37_has_what_differs() -> None:
    before, since_1_37 = tables()
    read = {name for name in before if name in OF_1_37.gates} | set(NEW_IN_1_37.split())
    handled = {name: handling_of(name, OF_1_37) for name in sorted(read)}
    assert since_1_37 == {name: handling for name, handling in handled.items() if handling != before.get(name)}


def tables() -> list[dict[str, tuple[str, str]]]:
    """Of the first version, and of the one after it: by gate its default, and what becomes of the other setting."""
    texts = PARITY.read_text(encoding="utf-8").split("### Gates of v1.37")
    return [{name: (default, handling) for name, default, handling in ROW.findall(text)} for text in texts]


def handling_of(name: str, release: KubernetesRelease) -> tuple[str, str]:
    gate = release.gates[name]
    handling = "works" if name in GATE_FIELDS else "no effect"
    if gate.is_locked:
        handling = "locked"
    elif name in REFUSED and not (release.has_pod_groups and name in GROUP_GATES):
        handling = "rejected"
    return "on" if gate.default else "off", handling


OF_EVERY_VERSION = pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)


@OF_EVERY_VERSION
def test_every_field_is_a_gate_with_upstreams_default(release: KubernetesRelease) -> None:
    assert {*GATE_FIELDS.values(), "release"} == {field.name for field in fields(FeatureGates)}
    defaults = read_feature_gates(None, release)
    assert {name: getattr(defaults, field) for name, field in GATE_FIELDS.items()} == {
        name: name in release.gates and release.gates[name].default for name in GATE_FIELDS
    }
    assert defaults.release is release.behavior


ON_IN_1_36 = """
    ComponentFlagz ComponentStatusz DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints
    DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
    DRASchedulerFilterTimeout InPlacePodLevelResourcesVerticalScaling MatchLabelKeysInPodTopologySpread
    NodeDeclaredFeatures NominatedNodeNameForExpectation PodLevelResources SchedulerPopFromBackoffQ
"""


def test_without_a_version_the_gates_have_the_defaults_of_1_36() -> None:
    assert DEFAULT_GATES.release is OF_1_36.behavior
    assert {name for name, field in GATE_FIELDS.items() if getattr(DEFAULT_GATES, field)} == set(ON_IN_1_36.split())


def test_a_gate_is_handled_in_one_way() -> None:
    handled = [*(name for name in GATE_FIELDS if name not in GROUP_GATES), *REFUSED]
    assert len(handled) == len(set(handled))
    for name in handled:
        known = [release.gates[name] for release in RELEASES.values() if name in release.gates]
        assert known
        assert not all(gate.is_locked for gate in known)


@OF_EVERY_VERSION
@pytest.mark.parametrize("name", [name for name in GATE_FIELDS if name not in GROUP_GATES])
def test_a_gate_that_works_is_read_both_ways(name: str, release: KubernetesRelease) -> None:
    if name not in release.gates:
        with pytest.raises(FeatureGateError, match=f"unrecognized feature gate: {name}"):
            read_feature_gates({name: True}, release)
        return
    default = release.gates[name].default
    assert getattr(read_feature_gates({name: default}, release), GATE_FIELDS[name]) is default
    depending = (*WITH_OTHERS.get(name, "").split(), *_needing(name, release))
    opposite = {**{other: False for other in depending if other in release.gates}, name: not default}
    if release.gates[name].is_locked:
        with pytest.raises(FeatureGateError, match=f"{name} to {str(not default).lower()}, feature is locked to"):
            read_feature_gates({name: not default}, release)
    else:
        assert getattr(read_feature_gates(opposite, release), GATE_FIELDS[name]) is not default


@pytest.mark.parametrize("name", sorted(GROUP_GATES))
def test_gates_of_groups_are_for_those_who_know_groups(name: str) -> None:
    settings = {"GenericWorkload": True, name: True}
    assert getattr(read_feature_gates(settings, RELEASES["1.37"], with_groups=True), GATE_FIELDS[name])
    with pytest.raises(FeatureGateError, match="pods are decided on one by one"):
        read_feature_gates(settings, RELEASES["1.37"])


def test_groups_of_1_36_are_not_known() -> None:
    with pytest.raises(FeatureGateError, match="GenericWorkload=true is not supported"):
        read_feature_gates({"GenericWorkload": True}, OF_1_36, with_groups=True)


def _needing(name: str, release: KubernetesRelease) -> list[str]:
    """Gates that are on and need this one."""
    return [other for other, needed in release.gate_dependencies.items() if name in needed]


@OF_EVERY_VERSION
@pytest.mark.parametrize("name", REFUSED)
def test_the_default_is_accepted_and_the_opposite_refused_by_name(name: str, release: KubernetesRelease) -> None:
    if name not in release.gates:
        return
    default = release.gates[name].default
    assert read_feature_gates({name: default}, release) == read_feature_gates(None, release)
    needed = dict.fromkeys((*release.gate_dependencies.get(name, ()), "GenericWorkload", "GangScheduling"), True)
    settings = {**{other: on for other, on in needed.items() if other in release.gates}, name: not default}
    with pytest.raises(FeatureGateError, match=f"{name}={str(not default).lower()} is not supported: "):
        read_feature_gates(settings, release)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GangScheduling=true", "unrecognized feature gate: GangScheduling"),
        ("SchedulerQueueingHints=true", "unrecognized feature gate: SchedulerQueueingHints"),
        (
            "NodeDeclaredFeatures=false",
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
        ),
        ("DRAFractionalCapacityRange=true,DRAConsumableCapacity=false", "depends on features that are disabled"),
    ],
)
def test_what_1_37_refuses(text: str, message: str) -> None:
    with pytest.raises(FeatureGateError, match=re.escape(message)):
        read_feature_gates(text, RELEASES["1.37"])


@pytest.mark.parametrize("name", ["OpportunisticBatching", "SchedulerAsyncAPICalls", "HPAScaleToZero"])
def test_gates_that_change_no_decision_are_accepted(name: str) -> None:
    assert read_feature_gates({name: True}, OF_1_36) == read_feature_gates({name: False}, OF_1_36) == DEFAULT_GATES


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
            "TopologyAwareWorkloadScheduling=false,WorkloadAwarePreemption=false,WorkloadWithJob=false",
            "GenericWorkload=true is not supported: pods are decided on one by one here, without pod groups",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(FeatureGateError) as refused:
        read_feature_gates(text, OF_1_36)
    assert str(refused.value) == message


def test_values_of_a_mapping_are_booleans() -> None:
    with pytest.raises(FeatureGateError, match="invalid value of VolumeLimitScaling=true, expected true or false"):
        read_feature_gates({"VolumeLimitScaling": "true"}, OF_1_36)  # type: ignore[dict-item]


@pytest.mark.parametrize("text", ["", "GangScheduling=F,DynamicResourceAllocation=1", " GangScheduling = false ,"])
def test_defaults_are_accepted(text: str) -> None:
    assert read_feature_gates(text, OF_1_36) == DEFAULT_GATES


def test_a_whole_stage_does_not_touch_gates_that_are_set_themselves() -> None:
    gates = read_feature_gates("AllBeta=false,DRAExtendedResource=true,SchedulerAsyncPreemption=true", OF_1_36)
    assert not gates.node_declared_features
    assert gates.dra_extended_resource
    assert read_feature_gates("AllAlpha=false,AllBeta=true,DRADeviceTaintRules=false", OF_1_36) == DEFAULT_GATES
