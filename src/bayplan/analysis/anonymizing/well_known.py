"""What an anonymized cluster keeps: words that Kubernetes documents, or that some decision here depends on.

Lists, not patterns: anything may follow a well-known prefix, `topology.` and `.kubernetes.io` included. What is in no
list gets another name. Only facts; `rules` says which list concerns which field.
"""

from __future__ import annotations

import re
from typing import Final

from bayplan.controllers.ownership import TEMPLATE_HASH
from bayplan.controllers.workloads.expand import POD_INDEX_LABEL, POD_NAME_LABEL
from bayplan.controllers.workloads.job_pods import CONTROLLER_UID_LABEL, JOB_INDEX_LABEL
from bayplan.controllers.workloads.job_tracking import TRACKING
from bayplan.controllers.workloads.templates import REVISION_HASH
from bayplan.core.plugins.csi_migration import DRIVERS, UNTRANSLATED_PLUGINS, ZONE_LABELS
from bayplan.core.plugins.dynamic_resources import OPTIONAL_NODE_OPERATIONS
from bayplan.core.plugins.node_declared_features import RESTART_ALL_CONTAINERS, USER_NAMESPACES_ON_HOST_NETWORK
from bayplan.core.plugins.node_volume_limits_hints import AZURE_FILE_DRIVER, VSPHERE_DRIVER
from bayplan.model import well_known
from bayplan.model.kinds import KINDS
from bayplan.model.resource_claims import ALL_DEVICES, CLAIM_FINALIZER, EXACT_COUNT
from bayplan.model.selectors import NODE_NAME_FIELD


def _words(text: str) -> set[str]:
    return set(text.split())


def _qualified(domain: str, names: str) -> set[str]:
    return {f"{domain}/{name}" for name in names.split()}


#: Keys of labels, taints and finalizers.
KEYS: Final = frozenset(
    {
        *(well_known.HOSTNAME, well_known.OPERATING_SYSTEM, well_known.ARCHITECTURE),
        *(well_known.ZONE, well_known.REGION, well_known.BETA_ZONE, well_known.BETA_REGION, *ZONE_LABELS.values()),
        *_qualified("topology.disk.csi.azure.com", "zone"),
        *_qualified("beta.kubernetes.io", "os arch instance-type"),
        *(well_known.NOT_READY, well_known.UNREACHABLE, well_known.UNSCHEDULABLE, well_known.NETWORK_UNAVAILABLE),
        *(well_known.MEMORY_PRESSURE, well_known.DISK_PRESSURE, well_known.PID_PRESSURE, well_known.TO_BE_DELETED),
        *_qualified(
            "node.kubernetes.io", "instance-type windows-build out-of-service exclude-from-external-load-balancers"
        ),
        *_qualified("node.cloudprovider.kubernetes.io", "uninitialized shutdown"),
        *_qualified("node-role.kubernetes.io", "control-plane master"),
        *_qualified("kubernetes.io", "metadata.name cluster-service"),
        *_qualified("app.kubernetes.io", "name instance version component part-of managed-by created-by"),
        *(TEMPLATE_HASH, REVISION_HASH, POD_NAME_LABEL, POD_INDEX_LABEL),
        *(CONTROLLER_UID_LABEL, JOB_INDEX_LABEL, TRACKING),
        *_words("job-name controller-uid batch.kubernetes.io/job-name"),
        *(well_known.PV_PROTECTION, well_known.PVC_PROTECTION, CLAIM_FINALIZER),
        *("foregroundDeletion", "orphan", "kubernetes", NODE_NAME_FIELD),
    }
)

#: Domains of keys. Of other domains below one of the second list, only what comes before it is renamed.
DOMAINS: Final = frozenset(
    _words("node.kubernetes.io node-role.kubernetes.io node-restriction.kubernetes.io kubernetes.io k8s.io")
    | _words("node.cloudprovider.kubernetes.io topology.kubernetes.io app.kubernetes.io")
)
PARENT_DOMAINS: Final = ("kubernetes.io", "k8s.io")

#: Groups of the API, the core group without a name included.
GROUPS: Final = frozenset(
    {info.group for info in KINDS.values()}
    | _words("autoscaling networking.k8s.io rbac.authorization.k8s.io apiextensions.k8s.io")
)
VERSION: Final = re.compile(r"v\d{1,2}((alpha|beta)\d{1,2})?")

#: Values of the labels for a node's operating system and architecture.
PLATFORMS: Final = frozenset(_words("linux windows amd64 arm64 arm ppc64le s390x riscv64 386"))

#: Storage drivers and provisioners that are treated in a way of their own.
DRIVER_NAMES: Final = frozenset(
    {*DRIVERS, *DRIVERS.values(), *UNTRANSLATED_PLUGINS, VSPHERE_DRIVER, AZURE_FILE_DRIVER}
    | _qualified("kubernetes.io", "no-provisioner")
)

RESOURCES: Final = frozenset(_words("cpu memory ephemeral-storage storage pods nvidia.com/gpu amd.com/gpu"))
#: Prefixes of resources that say what the rest is; the rest is the size of a page, or a name.
RESOURCE_PREFIXES: Final = ("hugepages-", "attachable-volumes-csi-", "attachable-volumes-")
PAGE_SIZE: Final = re.compile(r"[0-9]+[KMGTPE]i")

SCHEDULERS: Final = frozenset({well_known.DEFAULT_SCHEDULER_NAME})

#: Values of fields that have a fixed set of them, types of conditions, and their reasons.
WORDS: Final = frozenset(
    {
        *well_known.TAINT_EFFECTS,
        *(EXACT_COUNT, ALL_DEVICES, RESTART_ALL_CONTAINERS, USER_NAMESPACES_ON_HOST_NETWORK),
        *(OPTIONAL_NODE_OPERATIONS, "*", "NodePrepareResources", "NodeUnprepareResources"),
        *_words("In NotIn Exists DoesNotExist Gt Lt Equal True False Unknown true false yes no"),
        # policies
        *_words("PreemptLowerPriority Never Always OnFailure RestartAllContainers Restart IfHealthyBudget AlwaysAllow"),
        *_words("DoNotSchedule ScheduleAnyway Honor Ignore Retain Delete Recycle Immediate WaitForFirstConsumer"),
        *_words("RollingUpdate Recreate OnDelete OrderedReady Parallel Indexed NonIndexed Allow Forbid Replace"),
        *_words("TerminatingOrFailed FailJob FailIndex Count"),
        # volumes, ports, consumers of claims
        *_words("ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod Filesystem Block"),
        *_words("Managed managed Dedicated Shared TCP UDP SCTP pods"),
        # phases
        *_words("Pending Running Succeeded Failed Available Bound Released Lost Active Terminating"),
        # conditions
        *_words("PodScheduled Ready Initialized ContainersReady PodReadyToStartContainers DisruptionTarget"),
        *_words("PodResizePending PodResizeInProgress AllContainersRestarting"),
        *_words("Memory MemoryPressure DiskPressure PIDPressure NetworkUnavailable"),
        *_words("Complete FailureTarget Suspended SuccessCriteriaMet Progressing ReplicaFailure DisruptionAllowed"),
        *_words("Resizing FileSystemResizePending ModifyingVolume ModifyVolumeError"),
        # reasons
        *_words("Unschedulable SchedulingGated SchedulerError PreemptionByScheduler EvictionByEvictionAPI"),
        *_words("DeletionByTaintManager DeletionByDeviceTaintManager DeletionByPodGC TerminationByKubelet"),
        *_words("Infeasible Deferred Error PodCompleted PodFailed ContainersNotReady ContainersNotInitialized"),
        *_words("KubeletReady KubeletNotReady KubeletHasSufficientMemory KubeletHasNoDiskPressure"),
        *_words("KubeletHasSufficientPID KubeletHasInsufficientMemory KubeletHasDiskPressure"),
        *_words("NodeStatusUnknown NodeStatusNeverUpdated NewReplicaSetCreated FoundNewReplicaSet ReplicaSetUpdated"),
        *_words("NewReplicaSetAvailable MinimumReplicasAvailable MinimumReplicasUnavailable"),
        *_words("ProgressDeadlineExceeded DeploymentPaused DeploymentResumed ReplicaSetCreateError FailedCreate"),
        *_words("SufficientPods InsufficientPods SyncFailed CompletionsReached BackoffLimitExceeded"),
        *_words("DeadlineExceeded JobSuspended JobResumed"),
    }
)
