"""Feature gates by name, as kube-scheduler's `--feature-gates` takes them: `A=true,B=false`.

bayplan works as v1.36 does with its default gates. A gate that is set to its default is therefore accepted; any other
setting of a gate that changes scheduling is refused by name, and so is a gate that kube-scheduler does not know here.
"""

from __future__ import annotations

from typing import Final

#: Gates that kube-scheduler v1.36 looks at, with their defaults.
DEFAULTS: Final = {
    "DRAAdminAccess": True,
    "DRAConsumableCapacity": True,
    "DRADeviceBindingConditions": True,
    "DRADeviceTaintRules": False,
    "DRADeviceTaints": True,
    "DRAExtendedResource": True,
    "DRAListTypeAttributes": False,
    "DRANodeAllocatableResources": False,
    "DRAPartitionableDevices": True,
    "DRAPrioritizedList": True,
    "DRAResourceClaimDeviceStatus": True,
    "DRASchedulerFilterTimeout": True,
    "DRAWorkloadResourceClaims": False,
    "DynamicResourceAllocation": True,
    "GangScheduling": False,
    "GenericWorkload": False,
    "InPlacePodLevelResourcesVerticalScaling": True,
    "InPlacePodVerticalScaling": True,
    "MatchLabelKeysInPodTopologySpread": True,
    "NodeDeclaredFeatures": True,
    "NodeInclusionPolicyInPodTopologySpread": True,
    "NominatedNodeNameForExpectation": True,
    "OpportunisticBatching": True,
    "PodLevelResources": True,
    "SchedulerAsyncAPICalls": False,
    "SchedulerAsyncPreemption": True,
    "SchedulerPopFromBackoffQ": True,
    "SchedulerQueueingHints": True,
    "SidecarContainers": True,
    "StorageCapacityScoring": False,
    "TaintTolerationComparisonOperators": False,
    "TopologyAwareWorkloadScheduling": False,
    "VolumeAttributesClass": True,
    "VolumeLimitScaling": False,
    "WorkloadAwarePreemption": False,
}
#: As Go's strconv.ParseBool reads them.
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_BOOLEANS: Final = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


def check_feature_gates(text: str) -> None:
    """Raises ValueError, naming the gate, for a setting that bayplan cannot work with."""
    for setting in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in setting.partition("="))
        if not equals:
            raise ValueError(f"missing bool value for {name}")
        if name not in DEFAULTS:
            raise ValueError(f"unrecognized feature gate: {name}")
        if value not in _BOOLEANS:
            raise ValueError(f"invalid value of {name}={value}, use true or false")
        if _BOOLEANS[value] is not DEFAULTS[name]:
            default = str(DEFAULTS[name]).lower()
            raise ValueError(f"{name}={value} is not supported: bayplan works with the default of v1.36, {default}")
