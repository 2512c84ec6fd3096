"""What the Job controller remembers of a Job's pods, and the finalizer that keeps them until they are counted.

A pod that bears the finalizer has not been counted; when its result is in the Job's status the finalizer goes. Marks
say in which way a pod matters: it is active, perhaps ready; it is being deleted; it bears the finalizer; it is to be
counted now. A pod that has ended and was counted has none and is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bayplan.controllers.ownership import controlled_by, is_active, is_terminal
from bayplan.controllers.tally import Tally
from bayplan.controllers.workloads.job_pods import job_labels
from bayplan.controllers.workloads.pods_from_templates import Stamp
from bayplan.controllers.writes import with_metadata
from bayplan.model.conditions import is_ready
from bayplan.model.groups import PodGroup
from bayplan.model.pod import Pod, PodSchedulingGroup, PodTemplateSpec
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.workloads import Job
from bayplan.store import NotFound, Store

TRACKING = "batch.kubernetes.io/job-tracking"
BACKOFF_MIN_NS = 10 * SECOND
BACKOFF_MAX_NS = 6 * MINUTE

ACTIVE, READY, TERMINATING, TRACKED, COUNTABLE = 1, 2, 4, 8, 16


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures since the last success, and what follows from them."""

    number: int = 0
    last_at: int = 0

    @property
    def penalty_ends_at(self) -> int:
        """No pod is started before."""
        if not self.number:
            return 0
        # Beyond a few doublings it is the longest anyway; without a bound the number would grow for ever.
        penalty = BACKOFF_MIN_NS << min(self.number - 1, 16)
        return self.last_at + min(penalty, BACKOFF_MAX_NS)

    def and_then(self, pod: Pod, now: int) -> Failures:
        """With one more pod that ended."""
        return Failures() if pod.status.phase == "Succeeded" else Failures(self.number + 1, now)


@dataclass(slots=True)
class Progress:
    """What is known of one Job beyond what it says itself."""

    pods: Tally = field(default_factory=Tally)
    counted: dict[str, None] = field(default_factory=dict)
    """Uids of pods that the status counts, until their finalizer is off."""
    failures: Failures = field(default_factory=Failures)
    _stamp: tuple[PodTemplateSpec, str, Stamp] | None = None

    def stamp(self, job: Job, group: PodGroup | None) -> Stamp:
        template, group_uid = job.spec.template, "" if group is None else group.metadata.uid
        if self._stamp is None or self._stamp[0] is not template or self._stamp[1] != group_uid:
            self._stamp = template, group_uid, _stamp_of(job, group)
        return self._stamp[2]


def _stamp_of(job: Job, group: PodGroup | None) -> Stamp:
    template = job.spec.template
    if group is not None:
        # Upstream has the template name the group as an owner, too, which pods do not take over from templates.
        grouping = PodSchedulingGroup(pod_group_name=group.metadata.name)
        template = replace(template, spec=replace(template.spec, scheduling_group=grouping))
    return Stamp(template, job, job_labels(job))


def marks_of(pod: Pod) -> int:
    """Why the pod matters to its Job."""
    tracked = TRACKING in pod.metadata.finalizers
    if is_active(pod):
        return (TRACKED if tracked else 0) | (ACTIVE | READY if is_ready(pod) else ACTIVE)
    return (TRACKED | COUNTABLE if tracked else 0) | (0 if is_terminal(pod) else TERMINATING)


def tally_of(store: Store, job: Job) -> Tally:
    """The marks of all pods that are stored for the Job."""
    tally = Tally()
    for pod in controlled_by(store, job, Pod):
        tally.note(pod.metadata.name, marks_of(pod))
    return tally


def release(store: Store, namespace: str, name: str, now: int) -> Pod | None:
    """Takes the finalizer from the pod; None if it is gone, perhaps because nothing else had kept it."""

    def change(pod: Pod) -> Pod:
        if TRACKING not in pod.metadata.finalizers:
            return pod
        finalizers = [finalizer for finalizer in pod.metadata.finalizers if finalizer != TRACKING]
        return with_metadata(pod, finalizers=finalizers)

    try:
        store.modify(Pod, namespace, name, change, now)
    except NotFound:
        return None
    return store.find(Pod, namespace, name)
