"""Claims and pod specs inside other objects: what pods of a workload look like, and which claims come with them."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.controllers.ownership import WORKLOADS
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodSpec
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.volumes import PersistentVolumeClaimTemplate
from bayplan.model.workloads import CronJob, StatefulSet


def claims_brought_by(obj: Object) -> Iterator[PersistentVolumeClaim | PersistentVolumeClaimTemplate]:
    """The claims that the object is, or brings as templates."""
    if isinstance(obj, PersistentVolumeClaim):
        yield obj
        return
    if isinstance(obj, StatefulSet):
        yield from obj.spec.volume_claim_templates
    spec = pod_spec_of(obj)
    for volume in spec.volumes if spec is not None else ():
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            yield volume.ephemeral.volume_claim_template


def pod_spec_of(obj: Object) -> PodSpec | None:
    """Of a pod, or of those that the object creates."""
    if isinstance(obj, Pod):
        return obj.spec
    if isinstance(obj, CronJob):
        return obj.spec.job_template.spec.template.spec
    return obj.spec.template.spec if isinstance(obj, WORKLOADS) else None
