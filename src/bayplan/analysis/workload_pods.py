"""The pods that the workloads among a cluster's objects would still create, admitted as an API server would.

Takes admitted objects; gives new pods by key, each with what must exist for it (ReplicaSets, claims). A template that
admission refuses is a fault of its workload, kept until somebody needs those pods: it must not spoil other answers. If
an API server has stored the workload (it is from a dump), its controller tries in vain, and there are no such pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bayplan.admission import admit
from bayplan.admission.stored import was_created
from bayplan.controllers.ownership import Ownership, Workload, namespaced_name, reference_to
from bayplan.controllers.workloads.expand import PendingWorkload, next_to_create, pods_to_create
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.storage import StorageClass
from bayplan.model.structs import replace
from bayplan.model.workloads import CronJob, Job


@dataclass(slots=True)
class NewPod:
    """A pod that is only planned, and the workload whose plan it is."""

    pod: Pod
    origin: PendingWorkload


@dataclass(slots=True)
class WorkloadPods:
    """All new pods of all workloads, in the order of the workloads."""

    by_key: dict[str, NewPod] = field(default_factory=dict)
    by_workload: dict[int, list[str]] = field(default_factory=dict)  # id of the workload object -> keys
    faults: list[Fault] = field(default_factory=list)  # of manifests, which are to be corrected
    refused: list[Fault] = field(default_factory=list)  # of workloads in a dump: their controllers cannot create pods


def expand_workloads(objects: Sequence[Object], ownership: Ownership | None = None) -> WorkloadPods:
    """The pods that workloads lack; `ownership` is that of the objects, if it is known."""
    found = WorkloadPods()
    classes = _classes(objects)
    for pending in pods_to_create(objects, ownership):
        try:
            _admit(pending, classes)
        except InvalidObject as error:
            is_dumped = was_created(pending.workload.metadata)
            (found.refused if is_dumped else found.faults).extend(error.faults)
            continue
        new = {object_key(pod): NewPod(pod, pending) for pod in pending.pods}
        found.by_key |= new
        found.by_workload[id(pending.workload)] = list(new)
    return found


def next_of(objects: Sequence[Object], kind: str, namespace: str, name: str) -> NewPod | None:
    """The next pod of one workload, lacking or not; None when there is no such workload. Raises InvalidObject."""
    if kind == CronJob.__name__:
        return _next_of_cron_job(objects, namespace, name)
    try:
        pending = next_to_create(objects, kind, namespace, name)
    except LookupError:
        return None
    _admit(pending, _classes(objects))
    return NewPod(pending.pods[0], pending)


def _next_of_cron_job(objects: Sequence[Object], namespace: str, name: str) -> NewPod | None:
    """A pod of the Job that it starts next."""
    wanted = (namespace, name)
    cron_jobs = (obj for obj in objects if isinstance(obj, CronJob) and namespaced_name(obj) == wanted)
    cron_job = next(cron_jobs, None)
    if cron_job is None:
        return None
    template = cron_job.spec.job_template
    meta = ObjectMeta(name=name, namespace=namespace, labels=dict(template.metadata.labels))
    meta.owner_references = [reference_to(cron_job)]
    job = Job(metadata=meta, spec=replace(template.spec, suspend=False))
    try:
        return next_of([*objects, *admit([job])], Job.__name__, namespace, name)
    except InvalidObject as error:
        owner = f"{CronJob.__name__} {namespace}/{name}"
        faults = [Fault("", owner, f"spec.jobTemplate.{fault.field}", fault.message) for fault in error.faults]
        raise InvalidObject(faults) from error


def label(workload: Workload) -> str:
    """`Deployment prod/web`."""
    return f"{type(workload).__name__} {workload.metadata.namespace}/{workload.metadata.name}"


def _classes(objects: Sequence[Object]) -> list[Object]:
    """What admission looks at besides the new objects themselves."""
    return [obj for obj in objects if isinstance(obj, PriorityClass | StorageClass)]


def _admit(pending: PendingWorkload, classes: list[Object]) -> None:
    try:
        admit(pending.objects(), beside=classes)
    except InvalidObject as error:
        # All its pods are alike, and the user wrote none of them: say it once, of the template.
        distinct = dict.fromkeys((fault.field, fault.message) for fault in error.faults)
        owner = label(pending.workload)
        raise InvalidObject(
            [Fault("", owner, f"spec.template.{path}", message) for path, message in distinct]
        ) from error
