"""The pods of Jobs: their labels, their completion indexes, and when a Job is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from bayplan.controllers.ownership import is_active
from bayplan.model.conditions import is_condition_true
from bayplan.model.pod import Pod
from bayplan.model.workloads import Job
from bayplan.store.stamping import GENERATED_BASE_MAX

JOB_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
CONTROLLER_UID_LABEL = "batch.kubernetes.io/controller-uid"
#: The current ones and their predecessors.
JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
CONTROLLER_UID_LABELS = (CONTROLLER_UID_LABEL, "controller-uid")
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
#: Of an index; no Job has more of them.
_DIGITS_MAX = 10


def is_finished(job: Job) -> bool:
    """Whether nothing is done for the Job any more."""
    return any(is_condition_true(job.status.conditions, kind) for kind in (COMPLETE, FAILED))


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def job_labels(job: Job) -> dict[str, str]:
    """What is written on every pod of the Job."""
    return labels_of_job(job.metadata.name, job.metadata.uid)


def labels_of_job(name: str, uid: str) -> dict[str, str]:
    """As `job_labels`, for a Job of that name and uid."""
    labels = dict.fromkeys(JOB_NAME_LABELS, name)
    if uid:
        labels |= dict.fromkeys(CONTROLLER_UID_LABELS, uid)
    return labels


def index_of(pod: Pod) -> int | None:
    """The completion index the pod works on."""
    written = pod.metadata.labels.get(JOB_INDEX_LABEL) or pod.metadata.annotations.get(JOB_INDEX_LABEL, "")
    return int(written) if written.isdecimal() and len(written) <= _DIGITS_MAX else None


def open_indexes(job: Job, pods: Sequence[Pod]) -> Iterator[int]:
    """Completion indexes that are neither done, given up nor being worked on, then those beyond the last."""
    completions = job.spec.completions or 0
    taken = indexes_of(job.status.completed_indexes, completions)
    taken |= indexes_of(job.status.failed_indexes or "", completions)
    for pod in pods:
        index = index_of(pod)
        if index is not None and (is_active(pod) or pod.status.phase == "Succeeded"):
            taken.add(index)
    return (index for index in count() if index not in taken)


def indexes_of(written: str, completions: int) -> set[int]:
    """The indexes of `0-3,5`, as far as there are any of these."""
    indexes: set[int] = set()
    for part in filter(None, written.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(_below(first, completions), _below(last or first, completions - 1) + 1))
    return indexes


def _below(written: str, limit: int) -> int:
    return min(int(written), limit) if len(written) <= _DIGITS_MAX else limit


def index_prefix(job_name: str, index: int) -> str:
    """How the name of a pod begins; a long name of the Job is cut, so that the index stays."""
    # Upstream: job/indexed_job_utils.go, podGenerateNameWithIndex (v1.36).
    end = f"-{index}-"
    return job_name[: GENERATED_BASE_MAX - len(end)] + end


def written_indexes(indexes: Iterable[int]) -> str:
    """The other way round: neighbors joined, `0-3,5`; two are written singly, as Kubernetes does."""
    stretches: list[list[int]] = []
    for index in sorted(indexes):
        if stretches and stretches[-1][1] == index - 1:
            stretches[-1][1] = index
        else:
            stretches.append([index, index])
    return ",".join(_written_stretch(first, last) for first, last in stretches)


def _written_stretch(first: int, last: int) -> str:
    if last - first < 2:
        return str(first) if first == last else f"{first},{last}"
    return f"{first}-{last}"
