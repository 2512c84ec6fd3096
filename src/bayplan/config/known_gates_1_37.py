"""What became of kube-scheduler's feature gates in v1.37: those that are new, changed or removed.

Constants only, on top of those of v1.36. Upstream: pkg/features/kube_features.go (v1.37.0-rc.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bayplan.config.known_gates import DEPENDENCIES, KNOWN_GATES, GateStage, KnownGate

_GONE: Final = """
    APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
    AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache GangScheduling JobBackoffLimitPerIndex
    JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown OrderedNamespaceDeletion PodLifecycleSleepAction
    PodLifecycleSleepActionAllowZero PreventStaticPodAPIReferences RelaxedDNSSearchValidation
    ResilientWatchCacheInitialization RetryGenerateName SchedulerQueueingHints SidecarContainers
    StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
    WorkloadAwarePreemption
"""
_ALPHA: Final = """
    APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields CompositePodGroup
    ConsistentListFromCacheSkipTimeoutFallback DRADerivedAttributes DRADeviceCompatibilityGroups
    DRAOptionalNodeOperations DRAPartitionableDevicesType DefaultPodSysctls EmptyDirVolumeMode EvictionRequestAPI
    GRPCContainerProbeTLS H2CContainerProbe InPlacePodVerticalScalingMemoryBackedVolumes
    InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
    KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint NodeLifecycleConditions
    PodGroupPreemptionPolicy SchedulerPreQueueingHints StatefulSetRecreateStrategy VolumeBindMountOptions
"""
_BETA_OFF: Final = """
    DRAWorkloadResourceClaims GenericWorkload PodAndContainerStatsFromCRI PodLevelResourceManagers
"""
_BETA_ON: Final = """
    AllowUnsafeMalformedObjectDeletion ConcurrentWatchObjectDecode DRAFractionalCapacityRange EtcdRangeStream
    ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero
    HugepageAwareEviction KubeletInUserNamespace ManifestBasedAdmissionControlConfig MaxUnavailableStatefulSet
    MemoryQoS NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker PersistentVolumeClaimUnusedSinceTime
    PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodsAPI StaleControllerConsistencyHPA
    StorageCapacityScoring VolumeLimitScaling WatchListCompression WebhookRoundTripLoadBalancing
"""
_STABLE: Final = """
    ClusterTrustBundle ClusterTrustBundleProjection DRADeviceTaintRules DRADeviceTaints PodCertificateRequest
    SELinuxMount StorageVersionMigrator
"""
_STABLE_LOCKED: Final = """
    DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus HPAConfigurableTolerance HostnameOverride
    InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures PLEGOnDemandRelist
    PodReadyToStartContainersCondition RelaxedServiceNameValidation WatchCacheInitializationPostStartHook
"""
_DEPRECATED_ON: Final = """
    KubeProxyIPVS
"""
_DEPRECATED_LOCKED_OFF: Final = """
    DeclarativeValidationTakeover
"""
_DEPRECATED_LOCKED_ON: Final = """
    DisableCPUQuotaWithExclusiveCPUs
"""

_NEW_OR_CHANGED: Final = (
    (_ALPHA, KnownGate(GateStage.ALPHA, default=False)),
    (_BETA_OFF, KnownGate(GateStage.BETA, default=False)),
    (_BETA_ON, KnownGate(GateStage.BETA, default=True)),
    (_STABLE, KnownGate(GateStage.STABLE, default=True)),
    (_STABLE_LOCKED, KnownGate(GateStage.STABLE, default=True, is_locked=True)),
    (_DEPRECATED_ON, KnownGate(GateStage.DEPRECATED, default=True)),
    (_DEPRECATED_LOCKED_OFF, KnownGate(GateStage.DEPRECATED, default=False, is_locked=True)),
    (_DEPRECATED_LOCKED_ON, KnownGate(GateStage.DEPRECATED, default=True, is_locked=True)),
)
_NEW_DEPENDENCIES: Final = {
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRADerivedAttributes": ("DynamicResourceAllocation",),
    "DRADeviceCompatibilityGroups": ("DynamicResourceAllocation", "DRAPartitionableDevices"),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAOptionalNodeOperations": ("DynamicResourceAllocation", "NodeDeclaredFeatures"),
    "DRAPartitionableDevicesType": ("DynamicResourceAllocation", "DRAPartitionableDevices", "DRAResourcePoolStatus"),
    "EventedPLEG": ("PLEGOnDemandRelist",),
    "H2CContainerProbe": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "InPlacePodVerticalScalingSchedulerPreemption": ("InPlacePodVerticalScaling",),
    "KubeletAllocatedPodsEndpoint": ("InPlacePodVerticalScaling",),
    "NodeControllerLeaseCircuitBreaker": ("AtomicFIFO",),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "PodLevelResourcesFixDefaulting": ("PodLevelResources",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
    "StaleControllerConsistencyHPA": ("AtomicFIFO",),
}

GONE_GATES: Final = frozenset(_GONE.split())
KNOWN_GATES_1_37: Final[Mapping[str, KnownGate]] = MappingProxyType(
    {name: gate for name, gate in KNOWN_GATES.items() if name not in GONE_GATES}
    | {name: gate for names, gate in _NEW_OR_CHANGED for name in names.split()}
)
DEPENDENCIES_1_37: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        name: needed
        for name, all_needed in {**DEPENDENCIES, **_NEW_DEPENDENCIES}.items()
        if name not in GONE_GATES and (needed := tuple(each for each in all_needed if each not in GONE_GATES))
    }
)
