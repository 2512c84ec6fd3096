"""What belongs to the server in a document, whatever a client says: status, generation, system metadata.

`prepare_create` completes a new document in place. `prepare_update` takes the document as wished and as stored, and
lets what the write does not reach stay as it was: the status for a write to the object, all but the status for
one to the status. The generation counts the changes that controllers must act upon. What only one kind needs is in
`kinds`.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.pods import keep_pod_totals
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.wire_form import in_wire_form
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.timestamps import format_time

#: Subresources whose writes are about the status.
_STATUS_HALVES: Final = ("status", "approval")
#: Metadata that users write.
_OWN_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def prepare_create(resource: Resource, document: Document, now: int) -> None:
    """Completes a new document, which has its uid and its name, in place."""
    kind = kind_of(resource)
    metadata = document["metadata"]
    metadata["creationTimestamp"] = format_time(now)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    if kind.has_generations() and kind.counted_at_creation:
        metadata["generation"] = 1
    if "status" in document and kind.resets_status:
        document["status"] = _first_status(resource)
    if kind.on_create is not None:
        kind.on_create(document, now)


def _first_status(resource: Resource) -> Document:
    described = message_of(resource.api_version, resource.kind)
    assert described is not None
    return in_wire_form({}, described.fields["status"].type)


def prepare_update(resource: Resource, new: Document, old: Document, subresource: str, now: int) -> None:
    """Gives the new document, in place, what its write may not change."""
    kind = kind_of(resource)
    if subresource in _STATUS_HALVES:
        _keep_all_but_status(kind, new, old, now)
    else:
        keep(new, old, "status")
        if not subresource:
            if kind.on_update is not None:
                kind.on_update(new, old)
        elif subresource == "ephemeralcontainers":
            _keep_all_but(new, old, "ephemeralContainers")
        elif subresource == "resize":
            _keep_all_but_sizes(new, old)
    _keep_system_metadata(resource, new, old)
    if subresource not in _STATUS_HALVES and means_more_work(resource, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _keep_all_but_status(kind: Kind, new: Document, old: Document, now: int) -> None:
    for name in {*old, *new} - {"status", "metadata"}:
        keep(new, old, name)
    if kind.on_status is not None:
        kind.on_status(new, old, now)


def _keep_all_but(new: Document, old: Document, field: str) -> None:
    """Of the spec only this field is written."""
    spec = dict(old["spec"])
    keep(spec, new["spec"], field)
    new["spec"] = spec
    _keep_own_metadata(new, old)


def _keep_all_but_sizes(new: Document, old: Document) -> None:
    """Of the spec only what containers get is written, where they are the same containers in the same order."""
    spec = dict(old["spec"])
    lists = [(field, new["spec"].get(field) or [], spec.get(field) or []) for field in ("containers", "initContainers")]
    if any(len(given) != len(standing) for _, given, standing in lists):
        return
    for field, given, standing in lists:
        pairs = [*zip(standing, given, strict=True)]
        if any(container["name"] != other["name"] for container, other in pairs):
            spec[field] = given
        elif standing:
            spec[field] = [_resized(container, other) for container, other in pairs]
    keep(spec, new["spec"], "resources")
    keep_pod_totals(spec, old["spec"])
    new["spec"] = spec
    _keep_own_metadata(new, old)


def _keep_own_metadata(new: Document, old: Document) -> None:
    """What users say of the object itself is not what the write is about."""
    for name in _OWN_METADATA:
        keep(new["metadata"], old["metadata"], name)


def _resized(container: Document, other: Document) -> Document:
    made = {**container, "resources": other["resources"]}
    keep(made, other, "resizePolicy")
    return made


def _keep_system_metadata(resource: Resource, new: Document, old: Document) -> None:
    metadata, before = new["metadata"], old["metadata"]
    if not metadata.get("uid"):
        keep(metadata, before, "uid")
    for name in ("creationTimestamp", "generation", "selfLink"):
        keep(metadata, before, name)
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if resource.namespaced and not metadata.get("namespace"):
        metadata["namespace"] = before["namespace"]


def means_more_work(resource: Resource, new: Document, old: Document) -> bool:
    """Whether controllers must act upon the change, which a new generation tells them."""
    kind = kind_of(resource)
    if not kind.has_generations():
        return False
    return any(new.get(name) != old.get(name) for name in kind.watched or ()) or any(
        new["metadata"].get(name) != old["metadata"].get(name) for name in kind.watched_metadata
    )
