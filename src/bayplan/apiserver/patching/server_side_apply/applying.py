"""Server-side apply: an applied configuration goes into an object, unless it would change what others own.

`apply` takes the live document (None: there is
none), the applied one and who applies; gives the merged document with its owners, or raises `Conflict` that names the
fields and whose they are. Fields that the manager applied before and no longer does are removed, unless somebody else
owns them. As in the server, `kubectl` may take over fields that it applied client-side, and keeps its annotation of
that in step. Defaults and validation of the result are for the caller.
"""

import json
from typing import Any, NamedTuple

from bayplan.apiserver.patching.go_values import go_json
from bayplan.apiserver.patching.server_side_apply.comparing import compare
from bayplan.apiserver.patching.server_side_apply.conflicts import Conflicts
from bayplan.apiserver.patching.server_side_apply.extracting import faults_of, fields_of, with_named_fields
from bayplan.apiserver.patching.server_side_apply.field_sets import (
    FieldSet,
    difference,
    intersection,
    set_of_paths,
    union,
)
from bayplan.apiserver.patching.server_side_apply.list_items import Untypable
from bayplan.apiserver.patching.server_side_apply.managed_fields import (
    APPLY,
    UPDATE,
    FieldOwnership,
    Manager,
    Owners,
    read,
)
from bayplan.apiserver.patching.server_side_apply.merging import merged, without_fields
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD
from bayplan.apiserver.patching.server_side_apply.scopes import Scope
from bayplan.apiserver.patching.server_side_apply.shapes import Shape
from bayplan.apiserver.patching.server_side_apply.tracking import metadata_of, released, with_owners
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import LAST_APPLIED
from bayplan.store.errors import BadRequest, InternalError

_KUBECTL = "kubectl"
_BEFORE_FIRST_APPLY = "before-first-apply"

#: What each applied configuration contains, though nobody is recorded as its owner: metadata never goes as a whole.
_IDENTITY = set_of_paths((FIELD + "metadata",), (FIELD + "metadata", FIELD + "name"))

_Document = dict[str, Any]


class _Request(NamedTuple):
    scope: Scope
    live: _Document
    applied: _Document
    owners: Owners
    manager: Manager
    time: str


def apply(
    scope: Scope, live: _Document | None, applied: _Document, manager: str, now: int, *, force: bool = False
) -> _Document:
    """The document after the configuration is applied, with its owners."""
    _check(scope, applied)
    who = Manager.of(manager, APPLY, scope.api_version, scope.subresource)
    request = _Request(scope, live or {}, applied, {}, who, format_time(now))
    request = request._replace(owners=_owners_before(request))
    try:
        document, owners = _applied(request, force=force)
    except Conflicts as conflicts:
        conflicts = conflicts.beyond(_taken_over(request)) if manager == _KUBECTL else conflicts
        if conflicts.fields:
            raise conflicts.refusal() from None
        document, owners = _applied(request, force=True)
    if manager == _KUBECTL and _last_applied(document):
        document = _with_last_applied(document, applied)
    return with_owners(document, owners)


def _check(scope: Scope, applied: _Document) -> None:
    group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
    type_text = f"{group}/{version}, Kind={applied.get('kind', '')}"
    if (applied.get("apiVersion"), applied.get("kind")) != (scope.api_version, scope.kind):
        raise BadRequest(f"invalid object type: {type_text}")
    metadata = applied.get("metadata") or {}
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    faults = list(faults_of(applied, scope.shape))
    if faults:
        text = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}" if isinstance(metadata, dict) else "/"
        raise InternalError(f"failed to create typed patch object ({name}; {type_text}): {text}")


def _owners_before(request: _Request) -> Owners:
    """The owners of the live object; if nobody was tracked, all of it belongs to an owner made up for that."""
    scope, live = request.scope, request.live
    owners = read(metadata_of(live).get("managedFields"))
    fields = {} if owners else scope.counting(compare({}, live, scope.shape).changed)
    if not fields:
        return owners
    who = Manager.of(_BEFORE_FIRST_APPLY, UPDATE, scope.api_version, scope.subresource)
    return {who: FieldOwnership(fields, scope.api_version, request.time)}


def _applied(request: _Request, *, force: bool) -> tuple[_Document, Owners]:
    """The merged document and its owners; raises `Conflicts` unless forced."""
    scope, live, who = request.scope, request.live, request.manager
    last = request.owners.get(who)
    mine = FieldOwnership(
        scope.counting(fields_of(request.applied, scope.shape)), scope.api_version, last.time if last else ""
    )
    others = {manager: ownership for manager, ownership in request.owners.items() if manager != who}
    document = merged(live, request.applied, scope.shape)
    if last is not None and difference(last.fields, mine.fields):
        document = _pruned(document, last.fields, {**others, who: mine}, scope.shape)
    comparison = compare(live, document, scope.shape)
    changed, removed = scope.counting(comparison.changed), scope.counting(comparison.removed)
    taken = {manager: fields for manager in others if (fields := intersection(others[manager].fields, changed))}
    if taken and not force:
        raise Conflicts(taken)
    owners = released(others, changed, removed)
    if document != live:
        mine = mine._replace(time=request.time)
    elif last is not None and mine.fields == last.fields and mine.api_version == last.api_version:
        mine = last
    return document, {**owners, who: mine} if mine.fields else owners


def _pruned(document: _Document, last: FieldSet, owners: Owners, shape: Shape) -> _Document:
    """The merged document without what the manager applied last time and nobody owns now."""
    owned = _IDENTITY
    for ownership in owners.values():
        owned = union(owned, ownership.fields)
    last = with_named_fields(last, shape)
    everything = with_named_fields(fields_of(document, shape), shape)
    without_last = without_fields(document, last, shape)
    kept = union(with_named_fields(fields_of(without_last, shape), shape), with_named_fields(owned, shape))
    with_owned = without_fields(document, difference(everything, kept), shape)
    # Removing a field may have taken others with it that nobody applied; those come back.
    left = union(with_named_fields(fields_of(with_owned, shape), shape), _IDENTITY)
    gone = difference(everything, left)
    return without_fields(document, intersection(gone, last), shape)


# -- what kubectl applied client-side


def _last_applied(document: _Document) -> str:
    annotations = metadata_of(document).get("annotations") or {}
    return str(annotations.get(LAST_APPLIED, ""))


def _taken_over(request: _Request) -> FieldSet:
    """Fields that kubectl applied client-side and that are still as it applied them."""
    scope = request.scope
    try:
        last = json.loads(_last_applied(request.live) or "null")
        if (
            not isinstance(last, dict)
            or last.get("apiVersion") != scope.api_version
            or any(faults_of(last, scope.shape))
        ):
            return {}
        since = compare(last, request.live, scope.shape)
        return difference(fields_of(last, scope.shape), union(since.changed, since.removed))
    except (ValueError, Untypable):
        return {}


def _with_last_applied(document: _Document, applied: _Document) -> _Document:
    metadata = dict(metadata_of(applied))
    if metadata.get("annotations") is not None:
        metadata["annotations"] = {
            name: value for name, value in metadata["annotations"].items() if name != LAST_APPLIED
        }
    text = go_json({**applied, "metadata": metadata}) + "\n"
    annotations = {**document["metadata"]["annotations"], LAST_APPLIED: text}
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}
