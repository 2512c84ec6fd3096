"""Names that Kubernetes itself gives a meaning: labels, taints, annotations, condition types, defaults.

Constants only, each named after what it is for; a name that one module alone deals with stays in that module.
"""

from typing import Final

DEFAULT_NAMESPACE: Final = "default"
SYSTEM_NAMESPACE: Final = "kube-system"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

# Labels of nodes and volumes.
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"

# Effects and keys of taints.
TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NODE_STATE_TAINTS: Final = "node.kubernetes.io/"  # the prefix of taints that tell of a node's state
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"

# Annotations of claims.
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"

# Types of pod conditions.
POD_SCHEDULED: Final = "PodScheduled"
READY: Final = "Ready"
DISRUPTION_TARGET: Final = "DisruptionTarget"

# The reason of PodScheduled while a pod has scheduling gates.
SCHEDULING_GATED: Final = "SchedulingGated"
DEFAULT_INGRESS_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
OPERATING_SYSTEM: Final = "kubernetes.io/os"
ARCHITECTURE: Final = "kubernetes.io/arch"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
PV_PROTECTION: Final = "kubernetes.io/pv-protection"
PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
GROUP_PROTECTION: Final = "scheduling.k8s.io/podgroup-protection"
VAC_PROTECTION: Final = "kubernetes.io/vac-protection"
SERVICE_NAME: Final = "kubernetes.io/service-name"
SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"

#: The taint that Cluster Autoscaler puts on a node before it removes it.
TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
#: Annotations of pods that autoscalers are not to evict, or may.
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
