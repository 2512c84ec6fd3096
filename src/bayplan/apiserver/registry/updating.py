"""From a stored document and a wish to what is stored next.

A write goes either to the object or to one of its subresources: the rest stays as it was. What belongs to the server
stays whatever the wish says. A wish that changes nothing gives back the stored document itself.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bayplan.apiserver.kinds.certificates.signing_requests import approved
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.registry.documents import is_custom, metadata_of, with_part
from bayplan.apiserver.registry.typed import MODELED
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.model.timestamps import format_time
from bayplan.store.errors import INVALID, BadRequest, Conflict, InternalError, Invalid, field_cause
from bayplan.store.rules import RULES, storage_key

#: Metadata that only the server writes.
_SERVERS: Final = ("namespace", "creationTimestamp", "generation", "resourceVersion", "selfLink")
#: Metadata that stays if the wish does not say it; another value is refused.
_KEPT: Final = ("uid", "deletionGracePeriodSeconds")
UINT64_MAX: Final = 2**64 - 1
#: Names no version, just as if there were none.
_ANY_VERSION: Final = "0"


def check_namespace_of(namespace: str, document: Document) -> None:
    """Raises BadRequest where a document names another namespace than its request."""
    if namespace and (metadata_of(document).get("namespace") or "") not in ("", namespace):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_location(name: str, namespace: str, new: Document) -> None:
    """Raises BadRequest where a document that replaces another is meant for another place than that."""
    metadata = metadata_of(new)
    check_namespace_of(namespace, new)
    if not metadata.get("name"):
        text = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise BadRequest(text)
    if metadata["name"] != name:
        raise BadRequest(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")


def check_preconditions(old: Document, new: Document, resource: Resource, *, must_name_version: bool) -> None:
    """Raises Conflict when the wish was made for another object or an older version of it."""
    meta, wished = old["metadata"], metadata_of(new)
    name, namespace = meta["name"], meta.get("namespace", "")
    check_location(name, namespace, new)
    if must_name_version and wished.get("uid") and wished["uid"] != meta["uid"]:
        key = storage_key(_storage_prefix(resource), namespace, name)
        raise Conflict.other_uid(resource, key, name, wished["uid"], meta["uid"])
    version = wished.get("resourceVersion")
    if version and version != _ANY_VERSION:
        _check_number(version)
        if version != meta["resourceVersion"]:
            raise Conflict.stale(resource, name)
    elif must_name_version and (is_custom(resource) or kind_of(resource).update_needs_version):
        cause = field_cause(INVALID, "metadata.resourceVersion", "0: must be specified for an update")
        raise Invalid.of_resource(resource, name, [cause])


def _check_number(version: str) -> None:
    """Raises what Go says of a version that is no number."""
    if not (version.isascii() and version.isdigit()):
        raise InternalError(f"strconv.ParseUint: parsing {json.dumps(version)}: invalid syntax")
    if int(version) > UINT64_MAX:
        raise InternalError(f"strconv.ParseUint: parsing {json.dumps(version)}: value out of range")


def _storage_prefix(resource: Resource) -> str:
    info = MODELED.get(resource.qualified_resource)
    if info is not None:
        return RULES[info.kind].storage_prefix
    return f"{resource.group}/{resource.plural}" if is_custom(resource) else resource.plural


def written_half(old: Document, new: Document, resource: Resource, subresource: str, now: int) -> Document:
    """The document after a write to that half of it which the request is about."""
    if subresource == "approval":
        return approved(old, updated_status(old, new, resource), format_time(now))
    half = updated_status if subresource == "status" else updated
    return half(old, new, resource)


def updated(old: Document, new: Document, resource: Resource) -> Document:
    """The document after a write to all but its status."""
    made = {**new, "kind": old["kind"], "apiVersion": old["apiVersion"], "metadata": _next_metadata(old, new)}
    if resource.subresource("status") is not None:
        made = with_part(made, "status", old)
    return made


def updated_status(old: Document, new: Document, resource: Resource) -> Document:
    """The document after a write to its status, with which metadata may come along."""
    metadata = _next_metadata(old, new)
    if is_custom(resource):
        kept = tuple(field for field in {**metadata, **old["metadata"]} if field != "managedFields")
    else:
        kept = kind_of(resource).kept_by_status
    for field in kept:
        if field in old["metadata"]:
            metadata[field] = old["metadata"][field]
        else:
            metadata.pop(field, None)
    return with_part({**old, "metadata": metadata}, "status", new)


def _next_metadata(old: Document, new: Document) -> dict[str, Any]:
    before = old["metadata"]
    metadata = {field: value for field, value in metadata_of(new).items() if value is not None}
    for field in _SERVERS:
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    for field in _KEPT:
        if field in before:
            metadata[field] = metadata.get(field) or before[field]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    return metadata
