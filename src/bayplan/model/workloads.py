"""Workloads: the objects that make pods.

Kept are the selector, the template, how many pods are wanted, how they are exchanged for new ones, and the
status a scale or a rollout shows. See `meta` for the conventions. `replicas` None means 1, as the API server
defaults it; what an update strategy leaves out is for its controller to know.
"""

import msgspec

from bayplan.model.groups import DisruptionMode, EmptyPart, GroupSchedulingConstraints, PodGroupResourceClaim
from bayplan.model.meta import Condition, Int32, Int64, LabelSelector, ObjectMeta, ObjectPart, ObjectReference, TopLevel
from bayplan.model.pod import PodTemplateSpec
from bayplan.model.storage import PersistentVolumeClaim


class ReplicationControllerSpec(ObjectPart, kw_only=True):
    """The one workload whose selector is a plain map of labels."""

    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: dict[str, str] = {}
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class ScaleStatus(ObjectPart, kw_only=True):
    """The counts that replication controllers, replica sets, stateful sets and deployments share."""

    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: Int64 = 0
    conditions: list[Condition] = []


class ReplicationController(TopLevel, kw_only=True):
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class RollingUpdate(ObjectPart, kw_only=True):
    """How far a rollout may go at once; counts, or shares such as `25%`. Each kind reads its own of these."""

    max_surge: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    partition: Int32 | None = None


class UpdateStrategy(ObjectPart, kw_only=True):
    """`type` is RollingUpdate unless it says Recreate (deployments) or OnDelete (the others)."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class ReplicaSetSpec(ObjectPart, kw_only=True):
    """What StatefulSets and Deployments have, too."""

    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class ReplicaSet(TopLevel, kw_only=True):
    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class StatefulSetOrdinals(ObjectPart, kw_only=True):
    start: Int32 = 0


class StatefulSetSpec(ReplicaSetSpec, kw_only=True):
    volume_claim_templates: list[PersistentVolumeClaim] = []
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSet(TopLevel, kw_only=True):
    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class DeploymentSpec(ReplicaSetSpec, kw_only=True):
    strategy: UpdateStrategy | None = None
    revision_history_limit: Int32 | None = None
    paused: bool = False


class Deployment(TopLevel, kw_only=True):
    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class DaemonSetSpec(ObjectPart, kw_only=True):
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    update_strategy: UpdateStrategy | None = None


class DaemonSetStatus(ObjectPart, kw_only=True):
    desired_number_scheduled: Int32 = 0
    current_number_scheduled: Int32 = 0
    number_ready: Int32 = 0
    number_available: Int32 = 0
    number_misscheduled: Int32 = 0
    updated_number_scheduled: Int32 = 0
    observed_generation: Int64 = 0
    conditions: list[Condition] = []


class DaemonSet(TopLevel, kw_only=True):
    spec: DaemonSetSpec = msgspec.field(default_factory=DaemonSetSpec)
    status: DaemonSetStatus = msgspec.field(default_factory=DaemonSetStatus)


class PodFailurePolicyOnExitCodes(ObjectPart, kw_only=True):
    container_name: str | None = None
    operator: str = ""
    values: list[Int32] = []


class PodFailurePolicyOnPodCondition(ObjectPart, kw_only=True):
    type: str = ""
    status: str = "True"


class PodFailurePolicyRule(ObjectPart, kw_only=True):
    action: str = ""
    on_exit_codes: PodFailurePolicyOnExitCodes | None = None
    on_pod_conditions: list[PodFailurePolicyOnPodCondition] = []


class PodFailurePolicy(ObjectPart, kw_only=True):
    rules: list[PodFailurePolicyRule] = []


class SuccessPolicyRule(ObjectPart, kw_only=True):
    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(ObjectPart, kw_only=True):
    rules: list[SuccessPolicyRule] = []


class JobGangPolicy(ObjectPart, kw_only=True):
    min_count: Int32 | None = None  # None: the Job's parallelism


class JobGroupPolicy(ObjectPart, kw_only=True):
    basic: EmptyPart | None = None
    gang: JobGangPolicy | None = None


class JobScheduling(ObjectPart, kw_only=True):
    """What the PodGroup of a Job is to be like."""

    scheduling_policy: JobGroupPolicy | None = None
    scheduling_constraints: GroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: list[PodGroupResourceClaim] = []


class JobSpec(ObjectPart, kw_only=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    active_deadline_seconds: Int64 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    suspend: bool = False
    managed_by: str | None = None
    selector: LabelSelector | None = None
    scheduling: JobScheduling | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class JobStatus(ObjectPart, kw_only=True):
    active: Int32 = 0
    ready: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 = 0
    completed_indexes: str = ""
    failed_indexes: str | None = None
    start_time: str | None = None
    completion_time: str | None = None
    conditions: list[Condition] = []


class Job(TopLevel, kw_only=True):
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)


class JobTemplateSpec(ObjectPart, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class CronJobSpec(ObjectPart, kw_only=True):
    schedule: str = ""
    time_zone: str | None = None
    suspend: bool = False
    concurrency_policy: str = ""
    starting_deadline_seconds: Int64 | None = None
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None
    job_template: JobTemplateSpec = msgspec.field(default_factory=JobTemplateSpec)


class CronJobStatus(ObjectPart, kw_only=True):
    active: list[ObjectReference] = []
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(TopLevel, kw_only=True):
    spec: CronJobSpec = msgspec.field(default_factory=CronJobSpec)
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)
