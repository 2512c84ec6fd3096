"""Which objects have a generation, and which changes make a new one: those that controllers must act upon."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

#: Built-in resources whose objects count their generations.
_COUNTED: Final = frozenset(
    {
        *("pods", "replicationcontrollers", "replicasets.apps", "statefulsets.apps", "deployments.apps"),
        *("daemonsets.apps", "jobs.batch", "cronjobs.batch", "poddisruptionbudgets.policy"),
        *("priorityclasses.scheduling.k8s.io", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io"),
        *("ingressclasses.networking.k8s.io", "customresourcedefinitions.apiextensions.k8s.io"),
        *("mutatingwebhookconfigurations.admissionregistration.k8s.io",),
        *("validatingwebhookconfigurations.admissionregistration.k8s.io",),
        *("validatingadmissionpolicies.admissionregistration.k8s.io",),
        *("validatingadmissionpolicybindings.admissionregistration.k8s.io",),
        *("flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"),
        *("resourceslices.resource.k8s.io", "deviceclasses.resource.k8s.io", "endpointslices.discovery.k8s.io"),
    }
)
#: Whose annotations count as well.
_WITH_ANNOTATIONS: Final = frozenset({"deployments.apps"})
_NOT_COUNTED_FIELDS: Final = frozenset({"metadata", "status", "kind", "apiVersion"})


def is_custom(resource: Resource) -> bool:
    return message_of(resource.api_version, resource.kind) is None


def starts_with_generation(resource: Resource) -> bool:
    return resource.qualified_resource in _COUNTED or is_custom(resource)


def means_more_work(resource: Resource, old: Document, new: Document) -> bool:
    """Whether the change is one that a new generation reports."""
    if not starts_with_generation(resource):
        return False
    if is_custom(resource):
        return _counted_fields(old) != _counted_fields(new)
    if resource.qualified_resource in _WITH_ANNOTATIONS:
        annotations = [document["metadata"].get("annotations") for document in (old, new)]
        if annotations[0] != annotations[1]:
            return True
    return old.get("spec") is not new.get("spec") and old.get("spec") != new.get("spec")


def _counted_fields(document: Document) -> Document:
    return {field: value for field, value in document.items() if field not in _NOT_COUNTED_FIELDS}
