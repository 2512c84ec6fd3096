"""Full documents for what controllers create: with everything that their owner's template says.

Controllers work with narrow structs, which know nothing of probes, environments or security contexts. So what they
create is seen as a difference to the narrow view of the template that it was made from, and that difference is laid
over the template as its owner's document has it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from bayplan.apiserver.patching.overlay import overlay
from bayplan.apiserver.registry.typed import narrow_document
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL
from bayplan.model.pod import PodTemplateSpec
from bayplan.model.workloads import JobTemplateSpec


class _Source(NamedTuple):
    """Where an owner keeps the template of what it creates, and where in the created object that belongs."""

    path: tuple[str, ...]
    struct: type[Any]
    inside: tuple[str, ...] = ()


_POD_TEMPLATE: Final = _Source(("spec", "template"), PodTemplateSpec)
_SOURCES: Final = {
    ("ReplicationController", "Pod"): _POD_TEMPLATE,
    ("ReplicaSet", "Pod"): _POD_TEMPLATE,
    ("StatefulSet", "Pod"): _POD_TEMPLATE,
    ("DaemonSet", "Pod"): _POD_TEMPLATE,
    ("Job", "Pod"): _POD_TEMPLATE,
    ("Deployment", "ReplicaSet"): _Source(("spec", "template"), PodTemplateSpec, ("spec", "template")),
    ("CronJob", "Job"): _Source(("spec", "jobTemplate"), JobTemplateSpec),
}


_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"


def full_document(created: Document, owner: Document) -> Document:
    """The created object with what its owner's template says and narrow structs do not know."""
    source = _SOURCES.get((owner["kind"], created["kind"]))
    if source is None:
        return created
    template: Any = owner
    for step in source.path:
        template = template.get(step) or {}
    if owner["kind"] == "Job" and owner["spec"].get("completionMode") == "Indexed":
        template = {**template, "spec": _knowing_its_index(template.get("spec") or {})}
    narrow = narrow_document(msgspec.convert(template, source.struct))
    for step in reversed(source.inside):
        template, narrow = {step: template}, {step: narrow}
    message = message_of(created["apiVersion"], created["kind"])
    made = overlay(template, narrow, created, message)
    return {**made, "kind": created["kind"], "apiVersion": created["apiVersion"]}


def _knowing_its_index(spec: Document) -> Document:
    """The spec of a pod whose containers learn their completion index from the environment."""
    # Upstream: pkg/controller/job/indexed_job_utils.go addCompletionIndexEnvVariables (v1.36).
    made = dict(spec)
    for field in ("initContainers", "containers"):
        if spec.get(field):
            made[field] = [_with_index_variable(container) for container in spec[field]]
    return made


def _with_index_variable(container: Document) -> Document:
    known = container.get("env") or []
    if any(variable.get("name") == _INDEX_VARIABLE for variable in known):
        return container
    reference = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{JOB_INDEX_LABEL}']"}
    return {**container, "env": [*known, {"name": _INDEX_VARIABLE, "valueFrom": {"fieldRef": reference}}]}
