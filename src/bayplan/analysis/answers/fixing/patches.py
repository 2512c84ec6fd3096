"""Fixes as commands for kubectl.

A pod that a workload made is changed through the workload's template, and only there: the pod itself would be replaced
sooner or later. Of a pod without a workload little can be changed in place: tolerations can be added, gates opened, and
requests of cpu and memory resized. For the rest it has to be recreated, and so has a Job. StatefulSets and ReplicaSets
do not replace pods that are pending, so these are deleted. Patches are JSON patches, worked out as the difference
between the spec as it is and as it should be, so that fields unknown here stay as they are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bayplan.admission.stored import looks_stored, was_created
from bayplan.analysis.answers.fixing.answer import Patch, Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import TOLERATIONS, Edit
from bayplan.analysis.answers.fixing.trying import edited_spec
from bayplan.analysis.references import POD, Reference
from bayplan.controllers.ownership import controller_of_kind
from bayplan.controllers.workloads.job_pods import CONTROLLER_UID_LABELS
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Container, Pod, PodSpec
from bayplan.model.structs import replace
from bayplan.model.well_known import NOT_READY, UNREACHABLE
from bayplan.model.workloads import CronJob, DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet

#: Written as a whole, for they may not be in the document: a request that was taken over from a limit, and the class
#: that pods get which name none.
_WHOLE = ("requests", "priorityClassName")

#: One operation of a JSON patch (RFC 6902).
Operation = dict[str, Any]

_TEMPLATED = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job)
#: Kinds whose template can be patched; a Job has to be recreated.
_PATCHABLE = ("Deployment", "DaemonSet", "CronJob", "StatefulSet", "ReplicaSet", "ReplicationController")
#: Of these, kinds that leave a pending pod as it is when their template changes.
_KEEPING_PODS = ("StatefulSet", "ReplicaSet", "ReplicationController")
_DELETE_NOTE = "The {kind} keeps {pods} with the old template until you delete {them}."
_JOB_NOTE = "The template of a Job is immutable: the command deletes and recreates the Job, which starts over."
_CURRENT_JOB_NOTE = "The Job that is pending now keeps the old template: the command deletes and recreates it."
_OWNER_NOTE = "{owner} is not in the input: its template is assumed to match the pod."
_CHANGE_MANIFEST = "change its manifest"
_MANIFEST_NOTE = f"The pod is not in a cluster yet: {_CHANGE_MANIFEST}."
_RECREATE_NOTE = "This cannot be changed on an existing pod: the command deletes and recreates it."
#: What is to be thought of with things that are provided by hand.
_OF_VOLUMES = "Assumes a volume that every node can use."
_OF_DEVICES = "Assumes that it requests no devices, because it is not known which ones it needs."
_SUPPLY_NOTES = {
    RemedyKind.VOLUME_CLAIM: f"{_OF_VOLUMES} A volume that is tied to nodes or a zone ties the pod to them as well.",
    RemedyKind.BINDING: (
        f"It has no StorageClass, or one that binds at once: check class and provisioner. {_OF_VOLUMES}"
    ),
    RemedyKind.VOLUME: f"No free volume matches the claim, and its class cannot provision one. {_OF_VOLUMES}",
    RemedyKind.LOST_VOLUME: f"Without it, the data of the claim is inaccessible. {_OF_VOLUMES}",
    RemedyKind.STORAGE_CLASS: _OF_VOLUMES,
    RemedyKind.RESOURCE_CLAIM: _OF_DEVICES,
    RemedyKind.RESOURCE_CLAIM_TEMPLATE: _OF_DEVICES,
    RemedyKind.DEVICE_CLASS: "Assumes a class that allows any device.",
}
_TEMPLATE_PATH, _CRON_JOB_PATH = "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"
#: What may be done to a pod that exists.
_IN_PLACE = {*TOLERATIONS, RemedyKind.GATES}


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a pod: the workload's name and, if it is known, the workload itself."""

    reference: Reference
    workload: Object | None = None


def patches_for(
    pod: Pod, origin: Origin, edits: Sequence[Edit], around: Iterable[Remedy], waiting: Sequence[Pod] = ()
) -> tuple[Patch, ...]:
    """What to do, in the order in which to do it; `waiting` are the workload's pods that exist and are pending."""
    own = tuple(_pod_patches(pod, origin, edits, waiting or (pod,))) if edits else ()
    return (*own, *(patch for change in around for patch in _cluster_patches(change)))


def _cluster_patches(change: Remedy) -> Iterator[Patch]:
    if change.kind is RemedyKind.UNCORDON:
        yield Patch(f"kubectl uncordon {change.what}")
    elif change.kind is RemedyKind.UNTAINT:
        yield Patch(shlex.join(["kubectl", "taint", "nodes", change.what, f"{change.before}-"]))
    elif change.kind is RemedyKind.MIN_COUNT:
        namespace, _, name = change.what.partition("/")
        patch = json.dumps({"spec": {"schedulingPolicy": {"gang": {"minCount": change.after}}}})
        named = ["kubectl", "patch", "podgroup", name, "--namespace", namespace]
        yield Patch(shlex.join([*named, "--type", "merge", "--patch", patch]))
    elif change.kind in _SUPPLY_NOTES:
        yield Patch("", _SUPPLY_NOTES[change.kind])


def _pod_patches(pod: Pod, origin: Origin, edits: Sequence[Edit], waiting: Sequence[Pod]) -> Iterator[Patch]:
    gates = [edit for edit in edits if edit.change.kind is RemedyKind.GATES]
    others = [edit for edit in edits if edit.change.kind is not RemedyKind.GATES]
    if gates and looks_stored(pod):
        # A gate is opened on the pods that have it: whoever put it there does so again on the next pod.
        gated = [each.metadata.name for each in waiting if each.spec.scheduling_gates]
        yield Patch(_patch_command(_pod_reference(pod), _operations(pod.spec, gates, "/spec"), names=gated))
    else:
        others = list(edits)
    if others and origin.reference.kind == POD:
        # One, unless they belong to a pod group, some of which may be as they should. Manifests are changed alike.
        wrong = [each for each in waiting if _operations(each.spec, others, "/spec")]
        yield from dict.fromkeys(patch for each in wrong for patch in _bare_pod_patches(each, others))
    elif others:
        yield from _template_patches(pod, origin, others, [each for each in waiting if looks_stored(each)])


def _template_patches(pod: Pod, origin: Origin, edits: Sequence[Edit], waiting: Sequence[Pod]) -> Iterator[Patch]:
    kind = origin.reference.kind
    spec = _as_written(pod.spec) if origin.workload is None else template_of(origin.workload)
    if kind == "Job":
        yield _job_patch(origin, _operations(spec, edits, _TEMPLATE_PATH), waiting)
        return
    operations = _operations(spec, edits, _CRON_JOB_PATH if kind == "CronJob" else _TEMPLATE_PATH)
    if kind not in _PATCHABLE:
        yield Patch(_local_command(operations), f"Change the template in {origin.reference}.")
        return
    unknown = _OWNER_NOTE.format(owner=origin.reference) if origin.workload is None else ""
    yield Patch(_patch_command(origin.reference, operations), unknown)
    if kind in _KEEPING_PODS and waiting:
        names = [each.metadata.name for each in waiting]
        delete = ["kubectl", "delete", "pod", *names, "--namespace", pod.metadata.namespace]
        them = ("its pending pod", "it") if len(names) == 1 else ("its pending pods", "them")
        yield Patch(shlex.join(delete), _DELETE_NOTE.format(kind=kind, pods=them[0], them=them[1]))
    if kind == "CronJob":
        yield from _current_job_patches(spec, edits, waiting)


def _job_patch(origin: Origin, operations: list[Operation], waiting: Sequence[Pod]) -> Patch:
    """For the Job itself: the one in the cluster, if there is one."""
    if waiting:
        metadata = waiting[0].metadata
    elif isinstance(origin.workload, Job) and was_created(origin.workload.metadata):
        metadata = origin.workload.spec.template.metadata
    else:
        return Patch(_local_command(operations), f"The Job is not in a cluster yet: {_CHANGE_MANIFEST}.")
    return Patch(_recreate_command(origin.reference, [*_without_identity(metadata), *operations]), _JOB_NOTE)


def _current_job_patches(spec: PodSpec, edits: Sequence[Edit], waiting: Sequence[Pod]) -> Iterator[Patch]:
    """For the Jobs of a CronJob that are there already; their template is taken to be the CronJob's."""
    jobs = {owner: each for each in waiting if (owner := controller_of_kind(each.metadata, "Job")) is not None}
    for (namespace, name), each in jobs.items():
        operations = [*_without_identity(each.metadata), *_operations(spec, edits, _TEMPLATE_PATH)]
        yield Patch(_recreate_command(Reference("Job", namespace, name), operations), _CURRENT_JOB_NOTE)


def _without_identity(metadata: ObjectMeta) -> list[Operation]:
    """A Job that is created again gets a uid of its own, and a selector by it."""
    found = [label for label in CONTROLLER_UID_LABELS if label in metadata.labels]
    if not found:
        return []
    paths = ["/spec/selector", *(f"/spec/template/metadata/labels/{_escaped(label)}" for label in found)]
    return [{"op": "remove", "path": path} for path in paths]


def template_of(workload: Object) -> PodSpec:
    """The pod spec in the workload's template."""
    if isinstance(workload, CronJob):
        return workload.spec.job_template.spec.template.spec
    assert isinstance(workload, _TEMPLATED)
    return workload.spec.template.spec


def _bare_pod_patches(pod: Pod, edits: Sequence[Edit]) -> Iterator[Patch]:
    reference = _pod_reference(pod)
    if not looks_stored(pod):
        yield Patch(_local_command(_operations(_as_written(pod.spec), edits, "/spec")), _MANIFEST_NOTE)
        return
    operations = _operations(pod.spec, edits, "/spec")
    if all(edit.change.kind in _IN_PLACE for edit in edits):
        yield Patch(_patch_command(reference, operations))
    elif all(_is_resize(edit.change, pod.spec) for edit in edits):
        yield Patch(_patch_command(reference, operations, "--subresource", "resize"))
    else:
        yield Patch(_recreate_command(reference, operations), _RECREATE_NOTE)


def _is_resize(change: Remedy, spec: PodSpec) -> bool:
    """Whether the request can be changed in place. Not if that changes the pod's quality of service."""
    if change.kind is not RemedyKind.REQUEST or change.what not in (CPU_NAME, MEMORY_NAME) or not change.after:
        return False
    every: list[Container] = [*spec.containers, *spec.init_containers]
    return spec.resources is None and not all(_is_guaranteed(container) for container in every)


def _is_guaranteed(container: Container) -> bool:
    resources = container.resources
    return all(
        name in resources.limits and resources.requests.get(name, resources.limits[name]) == resources.limits[name]
        for name in (CPU_NAME, MEMORY_NAME)
    )


def _pod_reference(pod: Pod) -> Reference:
    return Reference(POD, pod.metadata.namespace, pod.metadata.name)


def _patch_command(
    reference: Reference, operations: Sequence[Operation], *options: str, names: Sequence[str] = ()
) -> str:
    named = names or [reference.name]
    what = ["kubectl", "patch", reference.kind.lower(), *named, "--namespace", reference.namespace, *options]
    return shlex.join([*what, "--type", "json", "--patch", json.dumps(operations)])


def _recreate_command(reference: Reference, operations: Sequence[Operation]) -> str:
    """Deletes the object and creates it again, patched."""
    named = [reference.kind.lower(), reference.name, "--namespace", reference.namespace]
    get = ["kubectl", "get", *named, "--output", "yaml"]
    replace = ["kubectl", "replace", "--force", "--filename", "-"]
    return " | ".join([shlex.join(get), _local_command(operations, "-"), shlex.join(replace)])


def _local_command(operations: Sequence[Operation], file: str = "MANIFEST.yaml") -> str:
    """Prints the patched object and changes nothing."""
    patching = ["kubectl", "patch", "--local", "--filename", file, "--type", "json", "--patch", json.dumps(operations)]
    return shlex.join([*patching, "--output", "yaml"])


def _as_written(spec: PodSpec) -> PodSpec:
    """The spec without what an API server adds to it."""
    written = replace(spec, priority=None, preemption_policy=None)
    written.tolerations = [
        toleration
        for toleration in spec.tolerations
        if toleration.toleration_seconds is None or toleration.key not in (NOT_READY, UNREACHABLE)
    ]
    return written


def _operations(spec: PodSpec, edits: Sequence[Edit], path: str) -> list[Operation]:
    changed = edited_spec(spec, edits)
    if changed.priority_class_name != spec.priority_class_name:
        # Admission works these out from the class, and refuses a pod that says something else.
        changed = replace(changed, priority=None, preemption_policy=None)
    before, after = msgspec.to_builtins(spec), msgspec.to_builtins(changed)
    return list(difference(before, after, path))


# ---------------------------------------------------------------- JSON patches


def difference(before: Any, after: Any, path: str) -> Iterator[Operation]:
    """Operations that turn one document into the other."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _of_objects(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        at = f"{path}/{_escaped(key)}"
        if key not in before or (key in _WHOLE and before[key] != value):
            yield {"op": "add", "path": at, "value": value}
        else:
            yield from difference(before[key], value, at)


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    if len(before) == len(after):
        for position, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from difference(old, new, f"{path}/{position}")
    elif after[: len(before)] == before:
        for added in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": added}
    else:
        # The last one first, so that the others keep their places.
        for position in reversed(_missing(before, after)):
            yield {"op": "remove", "path": f"{path}/{position}"}


def _missing(before: list[Any], after: list[Any]) -> list[int]:
    """Positions of what is left out of a list."""
    missing, kept = [], 0
    for position, value in enumerate(before):
        if kept < len(after) and value == after[kept]:
            kept += 1
        else:
            missing.append(position)
    return missing


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
