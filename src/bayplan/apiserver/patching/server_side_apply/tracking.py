"""Who owns which fields after a create, an update or a patch that is not an apply.

`track` takes the live document and the new one and gives the new one with `managedFields` brought up to date: whoever
wrote owns what changed, and nobody else does any more. To be called after defaults are set and before admission changes
anything, so that what admission adds has no owner. `with_old_times` undoes what is only a newer timestamp.
"""

from typing import Any

from bayplan.apiserver.patching.server_side_apply.comparing import compare
from bayplan.apiserver.patching.server_side_apply.field_sets import FieldSet, difference, union
from bayplan.apiserver.patching.server_side_apply.list_items import Untypable
from bayplan.apiserver.patching.server_side_apply.managed_fields import (
    UPDATE,
    FieldOwnership,
    Manager,
    Owners,
    read,
    read_foreign,
    write,
)
from bayplan.apiserver.patching.server_side_apply.scopes import Scope
from bayplan.model.timestamps import format_time

_MAX_UPDATE_MANAGERS = 10
_OLD_UPDATES = "ancient-changes"

_Document = dict[str, Any]


def track(scope: Scope, live: _Document | None, new: _Document, manager: str, now: int) -> _Document:
    """The new document with the owners of its fields; `live` is None on create."""
    before = live or {}
    owners = _owners_to_start_from(scope, before, new)
    if not owners and metadata_of(before).get("uid"):
        return with_owners(new, {})  # somebody gave up tracking this object, and so it stays
    try:
        comparison = compare(before, new, scope.compared)
    except Untypable:
        return with_owners(new, {})
    changed, removed = scope.counting(comparison.changed), scope.counting(comparison.removed)
    owners = released(owners, changed, removed)
    if changed:
        who = Manager.of(manager, UPDATE, scope.api_version, scope.subresource)
        fields = union(owners[who].fields, changed) if who in owners else changed
        owners[who] = FieldOwnership(fields, scope.api_version, format_time(now))
    return with_owners(new, _capped(owners))


def released(owners: Owners, *released_fields: FieldSet) -> Owners:
    """The owners, none of which owns these fields; those who are left with nothing are gone."""
    result = {}
    for manager, ownership in owners.items():
        left = ownership.fields
        for fields in released_fields:
            left = difference(left, fields)
        if left:
            result[manager] = ownership.with_fields(left)
    return result


def _owners_to_start_from(scope: Scope, live: _Document, new: _Document) -> Owners:
    """The owners that the request names, if it may; a client that does not know of them cannot remove them."""
    stored = metadata_of(live).get("managedFields")
    given = metadata_of(new).get("managedFields")
    if scope.subresource or given is None or given is stored or given == stored:
        return read(stored)
    if given in ([], [{}]):
        return {}
    return read_foreign(given) or read(stored)


def metadata_of(document: _Document) -> _Document:
    return document.get("metadata") or {}


def with_owners(document: _Document, owners: Owners) -> _Document:
    metadata = {name: value for name, value in metadata_of(document).items() if name != "managedFields"}
    if owners:
        metadata["managedFields"] = write(owners)
    return {**document, "metadata": metadata}


def _capped(owners: Owners) -> Owners:
    """At most ten managers that update: the fields of the oldest go to one entry for each version of the API."""
    updaters = [manager for manager in owners if manager.operation == UPDATE]
    excess = len(updaters) - _MAX_UPDATE_MANAGERS
    if excess <= 0:
        return owners
    updaters.sort(key=lambda manager: (owners[manager].time, manager.identifier))
    result = dict(owners)
    first_of_version: dict[str, Manager] = {}
    for manager in updaters:
        version = owners[manager].api_version
        if version not in first_of_version:
            first_of_version[version] = manager
            continue
        bucket = Manager.of(_OLD_UPDATES, UPDATE, version, "")
        if bucket not in result:
            result[bucket] = result.pop(first_of_version[version])
        merged = union(owners[manager].fields, result[bucket].fields)
        result[bucket] = FieldOwnership(merged, version, owners[manager].time)
        if manager != bucket:
            del result[manager]
        excess -= 1
        if not excess:
            break
    return result


def with_old_times(live: _Document, new: _Document) -> _Document:
    """The new document, with the owners of the live one if all that is different are the times of entries."""
    stored, given = live["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if not stored or not given or stored == given or len(stored) != len(given):
        return new
    if any({**old, "time": ""} != {**entry, "time": ""} for old, entry in zip(stored, given, strict=True)):
        return new
    as_before = {**new, "metadata": {**new["metadata"], "managedFields": stored}}
    same_version = {"resourceVersion": live["metadata"].get("resourceVersion")}
    is_same = {**as_before, "metadata": as_before["metadata"] | same_version} == {
        **live,
        "metadata": live["metadata"] | same_version,
    }
    return as_before if is_same else new
