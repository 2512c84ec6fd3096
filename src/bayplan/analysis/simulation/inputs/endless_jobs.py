"""Jobs that never end, because the input does not say how long their pods run.

Takes the objects of a cluster and what is applied to it later; returns a sentence for the user, or None. Manifests do
not say how long a Job takes, and no default would be right; but users should know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.analysis.simulation.inputs.commands import PlannedCommand, all_objects, reference_to
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.controllers.workloads.job_pods import is_finished
from bayplan.model.kinds import Object
from bayplan.model.workloads import CronJob, Job

_EXAMPLES = 3


def endless_jobs(objects: Iterable[Object], plans: Iterable[PlannedCommand]) -> str | None:
    """Which Jobs and CronJobs do not say how long their pods run, and how to say it."""
    names = list(dict.fromkeys(_endless(all_objects(objects, plans))))
    if not names:
        return None
    shown = ", ".join(names[:_EXAMPLES])
    more = f" and {len(names) - _EXAMPLES:,} more" if len(names) > _EXAMPLES else ""
    return (
        f"pods of {shown}{more} run until they are deleted; "
        f"the annotation {RUN_SECONDS} in the pod template sets a duration in seconds"
    )


def _endless(objects: Iterable[Object]) -> Iterator[str]:
    for obj in objects:
        if isinstance(obj, CronJob):
            template = obj.spec.job_template.spec.template
        elif isinstance(obj, Job) and not is_finished(obj):
            template = obj.spec.template
        else:
            continue
        if RUN_SECONDS not in template.metadata.annotations:
            yield str(reference_to(obj))
