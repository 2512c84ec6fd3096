"""Pod: what it asks for, where it may go, and what is known of it once it runs.

Holds the fields the scheduler reads and no others; see `meta` for the conventions. In the three affinities
`requiredDuringSchedulingIgnoredDuringExecution` is `required` and its preferred twin is `preferred`.
Volume sources live in `volumes`.
"""

import msgspec

from bayplan.model.meta import (
    Condition,
    Int32,
    Int64,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    ObjectPart,
    RawQuantity,
    TopLevel,
)
from bayplan.model.volumes import Volume

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: Phases in which a pod no longer takes up room on its node.
FINISHED_PHASES = frozenset({"Succeeded", "Failed"})


class ResourceClaimRequest(ObjectPart, kw_only=True):
    """An entry of `resources.claims`."""

    name: str = ""
    request: str = ""


class ResourceRequirements(ObjectPart, kw_only=True):
    requests: dict[str, RawQuantity] = {}
    limits: dict[str, RawQuantity] = {}
    claims: list[ResourceClaimRequest] = []


class ContainerPort(ObjectPart, kw_only=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerRestartRule(ObjectPart, kw_only=True):
    action: str = ""


class SleepAction(ObjectPart, kw_only=True):
    seconds: Int64 = 0


class LifecycleHandler(ObjectPart, kw_only=True):
    sleep: SleepAction | None = None


class Lifecycle(ObjectPart, kw_only=True):
    pre_stop: LifecycleHandler | None = None


class Container(ObjectPart, kw_only=True):
    """A container, or an init container (`restart_policy` Always makes that one a sidecar)."""

    name: str = ""
    image: str = ""
    ports: list[ContainerPort] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] = []
    lifecycle: Lifecycle | None = None


class NodeSelectorRequirement(LabelSelectorRequirement, kw_only=True):
    """Knows more operators."""


class NodeSelectorTerm(ObjectPart, kw_only=True):
    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class NodeSelector(ObjectPart, kw_only=True):
    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(ObjectPart, kw_only=True):
    weight: Int32 = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(ObjectPart, kw_only=True):
    required: NodeSelector | None = msgspec.field(default=None, name=REQUIRED)
    preferred: list[PreferredSchedulingTerm] = msgspec.field(default_factory=list, name=PREFERRED)


class PodAffinityTerm(ObjectPart, kw_only=True):
    label_selector: LabelSelector | None = None
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(ObjectPart, kw_only=True):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(ObjectPart, kw_only=True):
    required: list[PodAffinityTerm] = msgspec.field(default_factory=list, name=REQUIRED)
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(default_factory=list, name=PREFERRED)


class PodAntiAffinity(PodAffinity, kw_only=True):
    """Terms about pods to keep away from."""


class Affinity(ObjectPart, kw_only=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(ObjectPart, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(ObjectPart, kw_only=True):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] = []


class PodSchedulingGate(ObjectPart, kw_only=True):
    name: str = ""


class PodResourceClaim(ObjectPart, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(ObjectPart, kw_only=True):
    pod_group_name: str = ""


class PodSpec(ObjectPart, kw_only=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: dict[str, RawQuantity] = {}
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    scheduling_gates: list[PodSchedulingGate] = []
    scheduling_group: PodSchedulingGroup | None = None
    volumes: list[Volume] = []
    host_network: bool = False
    host_users: bool | None = None
    termination_grace_period_seconds: Int64 | None = None
    resource_claims: list[PodResourceClaim] = []
    restart_policy: str = ""
    active_deadline_seconds: Int64 | None = None
    hostname: str = ""


class ReportedResources(ObjectPart, kw_only=True):
    """What a kubelet says a container or pod has. To report no requests is not to report empty ones."""

    requests: dict[str, RawQuantity] | None = None
    limits: dict[str, RawQuantity] = {}
    claims: list[ResourceClaimRequest] = []


class ContainerStateTerminated(ObjectPart, kw_only=True):
    exit_code: Int32 = 0


class ContainerState(ObjectPart, kw_only=True):
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(ObjectPart, kw_only=True):
    name: str = ""
    state: ContainerState | None = None
    restart_count: Int32 = 0
    resources: ReportedResources | None = None
    allocated_resources: dict[str, RawQuantity] | None = None


class PodResourceClaimStatus(ObjectPart, kw_only=True):
    """The claim that was made for an entry of `spec.resourceClaims`; without a name none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(ObjectPart, kw_only=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(ObjectPart, kw_only=True):
    request_mappings: list[ContainerExtendedResourceRequest] = []
    resource_claim_name: str = ""


class PodStatus(ObjectPart, kw_only=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[Condition] = []
    start_time: str | None = None
    nominated_node_name: str = ""
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    resources: ReportedResources | None = None
    allocated_resources: dict[str, RawQuantity] | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] = []
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(TopLevel, kw_only=True):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


def group_key(pod: Pod) -> str:
    """namespace/name of the PodGroup that the pod belongs to, "" if it belongs to none."""
    group = pod.spec.scheduling_group
    return f"{pod.metadata.namespace}/{group.pod_group_name}" if group is not None and group.pod_group_name else ""


class PodTemplateSpec(ObjectPart, kw_only=True):
    """The pod a workload makes."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    fingerprint: str = ""
    """Of the whole template, where it is known with the fields that are left out here: templates may differ in these.
    No document has it."""
