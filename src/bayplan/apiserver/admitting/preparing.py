"""What belongs to the server in a document, whatever a client says: status, generation, selectors of jobs.

`prepare_create` completes a new document in place. `prepare_update` takes the document as wished and as stored, and
lets what the write does not reach stay as it was: the status for a write to the object, all but the status for
one to the status. The generation counts the changes that controllers must act upon.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.label_keys import merge_label_keys
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.admitting.wire_form import in_wire_form
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.controllers.workloads.job_pods import CONTROLLER_UID_LABEL, labels_of_job
from bayplan.model.conditions import FALSE
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import POD_SCHEDULED, PV_PROTECTION, PVC_PROTECTION, SCHEDULING_GATED
from bayplan.store.pods import GATED_MESSAGE

_KUBERNETES = "kubernetes"
_SNAPSHOTS = "snapshot.storage.k8s.io"
# Kinds whose generation counts, with the fields in which a change is one that controllers must act upon.
_WATCHED_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys(
        [
            ("", "Pod"),
            ("", "ReplicationController"),
            ("apps", "Deployment"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("batch", "Job"),
            ("batch", "CronJob"),
            ("policy", "PodDisruptionBudget"),
            ("networking.k8s.io", "Ingress"),
            ("networking.k8s.io", "IngressClass"),
            ("networking.k8s.io", "NetworkPolicy"),
            ("resource.k8s.io", "DeviceClass"),
            ("resource.k8s.io", "ResourceSlice"),
            ("storage.k8s.io", "CSIDriver"),
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ],
        ("spec",),
    ),
    ("", "PodTemplate"): ("template",),
    ("scheduling.k8s.io", "PriorityClass"): (),
    ("discovery.k8s.io", "EndpointSlice"): ("addressType", "endpoints", "ports"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
}
# Their generation is only set by the first change.
_NOT_COUNTED_AT_CREATION = frozenset({("storage.k8s.io", "CSIDriver")})


def prepare_create(resource: Resource, document: Document, now: int) -> None:
    """Completes a new document, which has its uid and its name, in place."""
    key = (resource.group, resource.kind)
    metadata = document["metadata"]
    metadata["creationTimestamp"] = format_time(now)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    if key in _WATCHED_FIELDS and key not in _NOT_COUNTED_AT_CREATION:
        metadata["generation"] = 1
    if "status" in document and resource.kind != "Node":
        document["status"] = _first_status(resource)
    complete = _ON_CREATE.get(key)
    if complete is not None:
        complete(document, now)


def _first_status(resource: Resource) -> Document:
    described = message_of(resource.api_version, resource.kind)
    assert described is not None
    return in_wire_form({}, described.fields["status"].type)


def _create_pod(pod: Document, now: int) -> None:
    spec = pod["spec"]
    status: Document = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": POD_SCHEDULED,
                "status": FALSE,
                "lastProbeTime": None,
                "lastTransitionTime": format_time(now),
                "reason": SCHEDULING_GATED,
                "message": GATED_MESSAGE,
            }
        ]
    pod["status"] = status
    merge_label_keys(pod)


def _create_namespace(namespace: Document, now: int) -> None:  # noqa: ARG001 - all of the table take the time
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].setdefault("finalizers", [])
    if _KUBERNETES not in finalizers:
        finalizers.append(_KUBERNETES)


#: Finalizers that keep volumes and claims while they are in use.


def _create_volume(volume: Document, now: int) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(now)}
    _protect(volume, PV_PROTECTION)


def _create_claim(claim: Document, now: int) -> None:  # noqa: ARG001
    claim["status"]["phase"] = "Pending"
    _settle_data_source(claim["spec"])
    _protect(claim, PVC_PROTECTION)


def _protect(document: Document, finalizer: str) -> None:
    finalizers = document["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _settle_data_source(spec: Document) -> None:
    """A source other than a claim or a snapshot is ignored in the old field; the two fields say the same."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        known = (source.get("apiGroup", ""), source["kind"]) in (
            ("", "PersistentVolumeClaim"),
            (_SNAPSHOTS, "VolumeSnapshot"),
        )
        if known:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def _create_job(job: Document, now: int) -> None:  # noqa: ARG001
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"]:
        return
    template = spec["template"].setdefault("metadata", {})
    labels = labels_of_job(metadata.get("name", ""), metadata.get("uid", ""))
    template["labels"] = {**labels, **template.get("labels", {})}
    selector = spec.setdefault("selector", {}) or {}
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID_LABEL, metadata.get("uid", ""))
    spec["selector"] = selector
    metadata.setdefault("labels", dict(template["labels"]))


def _create_daemon_set(daemon_set: Document, now: int) -> None:  # noqa: ARG001
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[TEMPLATE_GENERATION] = "1"


def _create_definition(definition: Document, now: int) -> None:  # noqa: ARG001
    versions = definition["spec"]["versions"] or ()
    definition["status"]["storedVersions"] = [version["name"] for version in versions if version["storage"]]


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

_ON_CREATE: dict[tuple[str, str], Callable[[Document, int], None]] = {
    ("", "Pod"): _create_pod,
    ("", "Namespace"): _create_namespace,
    ("", "PersistentVolume"): _create_volume,
    ("", "PersistentVolumeClaim"): _create_claim,
    ("batch", "Job"): _create_job,
    ("apps", "DaemonSet"): _create_daemon_set,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _create_definition,
}


def prepare_update(resource: Resource, new: Document, old: Document, subresource: str, now: int) -> None:
    """Gives the new document, in place, what its write may not change."""
    if subresource == "status":
        _keep_all_but_status(resource, new, old, now)
    else:
        _keep(new, old, "status")
        if not subresource:
            _keep_more(resource, new, old)
        elif subresource == "ephemeralcontainers":
            _keep_all_but(new, old, "ephemeralContainers")
        elif subresource == "resize":
            _keep_all_but_sizes(new, old)
    _keep_system_metadata(resource, new, old)
    if subresource != "status":
        _count_change(resource, new, old)


def _keep(new: Document, old: Document, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _keep_all_but_status(resource: Resource, new: Document, old: Document, now: int) -> None:
    for name in {*old, *new} - {"status", "metadata"}:
        _keep(new, old, name)
    if resource.kind == "Pod":
        _keep(new["metadata"], old["metadata"], "ownerReferences")
        _keep_pod_status(new["status"], old.get("status", {}))
    elif resource.kind == "Deployment":
        _keep(new["metadata"], old["metadata"], "labels")
    elif resource.kind == "PersistentVolume":
        _keep_phase_time(new["status"], old.get("status", {}), now)


def _keep_pod_status(new: Document, old: Document) -> None:
    if "qosClass" in old:
        new.setdefault("qosClass", old["qosClass"])
    if "observedGeneration" in old:
        new.setdefault("observedGeneration", old["observedGeneration"])
    before = {condition["type"]: condition for condition in old.get("conditions", ())}
    for condition in new.get("conditions", ()):
        generation = before.get(condition["type"], {}).get("observedGeneration")
        if generation:
            condition.setdefault("observedGeneration", generation)


def _keep_phase_time(new: Document, old: Document, now: int) -> None:
    name = "lastPhaseTransitionTime"
    if new.get("phase") == old.get("phase"):
        if name in old:
            new.setdefault(name, old[name])
    elif new.get(name) in (None, old.get(name)):
        new[name] = format_time(now)


def _keep_all_but(new: Document, old: Document, field: str) -> None:
    """Of the spec only this field is written."""
    spec = dict(old["spec"])
    _keep(spec, new["spec"], field)
    new["spec"] = spec


def _keep_all_but_sizes(new: Document, old: Document) -> None:
    """Of the spec only what containers get is written, where they are the same containers in the same order."""
    spec = dict(old["spec"])
    for field in ("containers", "initContainers"):
        given, standing = new["spec"].get(field) or [], spec.get(field) or []
        if [container["name"] for container in given] != [container["name"] for container in standing]:
            return
        if standing:
            pairs = zip(standing, given, strict=True)
            spec[field] = [_resized(container, other) for container, other in pairs]
    _keep(spec, new["spec"], "resources")
    new["spec"] = spec


def _resized(container: Document, other: Document) -> Document:
    made = {**container, "resources": other["resources"]}
    _keep(made, other, "resizePolicy")
    return made


def _keep_more(resource: Resource, new: Document, old: Document) -> None:
    if resource.kind == "Namespace":
        _keep(new["spec"], old.get("spec", {}), "finalizers")
    elif resource.kind == "PersistentVolumeClaim":
        _settle_data_source(new["spec"])
    elif resource.kind == "DaemonSet":
        before = int(old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0"))
        changed = new["spec"]["template"] != old["spec"]["template"]
        new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(before + changed)


def _keep_system_metadata(resource: Resource, new: Document, old: Document) -> None:
    metadata, before = new["metadata"], old["metadata"]
    if not metadata.get("uid"):
        _keep(metadata, before, "uid")
    for name in ("creationTimestamp", "deletionTimestamp", "generation", "selfLink"):
        _keep(metadata, before, name)
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if resource.namespaced and not metadata.get("namespace"):
        metadata["namespace"] = before["namespace"]


def _count_change(resource: Resource, new: Document, old: Document) -> None:
    if means_more_work(resource, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def means_more_work(resource: Resource, new: Document, old: Document) -> bool:
    """Whether controllers must act upon the change, which a new generation tells them."""
    watched = _WATCHED_FIELDS.get((resource.group, resource.kind), ())
    if any(new.get(name) != old.get(name) for name in watched):
        return True
    if resource.kind == "Deployment":
        return bool(new["metadata"].get("annotations") != old["metadata"].get("annotations"))
    if resource.kind == "EndpointSlice":
        return bool(new["metadata"].get("labels") != old["metadata"].get("labels"))
    return False
