"""Workloads that create no pods for now: CronJobs that are not due, and suspended Jobs.

Takes a cluster and what a user asks about; gives the cluster as it is once the workload has started, with the pods that
wait then. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from bayplan.analysis.answers.fixing.answer import Fix, Fixes, Patch, Remedy, RemedyKind
from bayplan.analysis.answers.owners import short_name
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import Reference, parse_reference
from bayplan.controllers.ownership import key_of
from bayplan.model.kinds import Object
from bayplan.model.structs import replace
from bayplan.model.workloads import CronJob, Job

_RESUME = 'kubectl patch job {name} --namespace {namespace} --type merge --patch \'{{"spec": {{"suspend": false}}}}\''


def started(cluster: Cluster, text: str, namespace: str) -> Cluster | None:
    """The cluster with the pods of a workload that waits to be started; None if it is not such a workload.

    Raises InvalidObject if there is none of this name.
    """
    reference = parse_reference(text, namespace)
    if text in cluster.pods:
        return None
    if reference.kind == CronJob.__name__:
        return _with_next_pod(cluster, text, namespace)
    suspended = suspended_job(cluster, reference)
    if suspended is None:
        return None
    resumed = replace(suspended, spec=replace(suspended.spec, suspend=False))
    objects: list[Object] = [resumed if obj is suspended else obj for obj in cluster.objects]
    return cluster.like(objects)


def suspended_job(cluster: Cluster, reference: Reference) -> Job | None:
    """The Job of this name, if it is suspended."""
    wanted = (reference.kind, reference.namespace, reference.name)
    return next((job for job in cluster.suspended_jobs if key_of(job) == wanted), None)


def _with_next_pod(cluster: Cluster, text: str, namespace: str) -> Cluster | None:
    """With a pod of the Job that a CronJob starts next, unless one is pending already."""
    wanted = cluster.wanted(text, namespace)
    if wanted.origin is None or wanted.subject.siblings is not None:
        return None
    job = wanted.origin.origin.workload
    return cluster.like([*cluster.objects, job, *wanted.origin.origin.along, wanted.pod])


def with_resuming(answer: Fixes, reference: Reference, nodes: tuple[str, ...]) -> Fixes:
    """The answer about a Job as if it had been resumed, turned into one about the Job as it is.

    `nodes` is where its pods run if nothing else has to be done.
    """
    change = Remedy(RemedyKind.RESUME, short_name(reference))
    patch = Patch(_RESUME.format(name=reference.name, namespace=reference.namespace))
    message = "the Job is suspended"
    if answer.is_fine:
        fix = Fix((change,), nodes, answer.pending, answer.victims, patches=(patch,))
        return with_fields(answer, fits_on="", victims=(), message=message, fixes=(fix,))
    fixes = [with_fields(fix, changes=(*fix.changes, change), patches=(*fix.patches, patch)) for fix in answer.fixes]
    return with_fields(answer, message=f"{message}; once resumed: {answer.message}", fixes=tuple(fixes))
