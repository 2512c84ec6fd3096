"""The workload that a running pod belongs to: what a user would change to change the pod.

Takes the objects of a cluster; follows owner references upward (ReplicaSet to Deployment, Job to CronJob) as far as
names tell, even where the owner itself is not among the objects. Does not check that the workload would make this pod.
"""

from __future__ import annotations

from bayplan.analysis.references import POD, Reference
from bayplan.controllers.ownership import Ownership, controller_reference, deployment_behind
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE

_MADE_BY_OTHERS = ("ReplicaSet", "Job")


def workload_of(pod: Pod, ownership: Ownership) -> Reference:
    """The topmost controller that is known by name; the pod itself if it has none."""
    meta = pod.metadata
    reference = controller_reference(meta)
    if reference is None or reference.kind == "Node":  # a static pod is controlled by its node
        return Reference(POD, meta.namespace, meta.name)
    if reference.kind not in _MADE_BY_OTHERS:
        return Reference(reference.kind, meta.namespace, reference.name)
    owner = ownership.controller_of(meta)
    above = controller_reference(owner.metadata) if owner is not None else None
    if above is not None:
        return Reference(above.kind, meta.namespace, above.name)
    if owner is None and (deployment := deployment_behind(meta)):
        return Reference("Deployment", meta.namespace, deployment)
    return Reference(reference.kind, meta.namespace, reference.name)


def belongs_to(pod: Pod, workload: Reference, ownership: Ownership) -> bool:
    """Whether the workload controls the pod, directly or through another."""
    direct = controller_reference(pod.metadata)
    if direct is not None and (direct.kind, direct.name) == (workload.kind, workload.name):
        return True
    return workload_of(pod, ownership) == workload


def short_name(reference: Reference) -> str:
    """`deployment/web`, `shop/deployment/web`, `shop/web-1` for a pod: as a command takes it."""
    if reference.kind == POD:
        return reference.key
    prefix = "" if reference.namespace == DEFAULT_NAMESPACE else f"{reference.namespace}/"
    return f"{prefix}{reference.kind.lower()}/{reference.name}"
