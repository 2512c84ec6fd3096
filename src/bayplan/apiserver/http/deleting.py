"""DELETE of objects and of collections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.bodies import Expected, decode
from bayplan.apiserver.http.reading import selection_of
from bayplan.apiserver.http.rendering import list_answer, object_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.http.writing import options_of
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Deleted, Registry
from bayplan.apiserver.registry.versions import served_form, storage_name
from bayplan.apiserver.storage.entries import Document, encode_json
from bayplan.store.deleting import ORPHAN
from bayplan.store.deleting import DeleteOptions as DeletionRequest
from bayplan.store.errors import INVALID, Invalid, MethodNotAllowed, NotFound, field_cause

_OPTIONS = Expected("v1", "DeleteOptions")


def deletion_of(request: Request) -> tuple[DeletionRequest, WriteOptions]:
    """How to delete, from the body and the query."""
    body = decode(request, _OPTIONS, "DeleteOptions").document if request.body else {}
    query: dict[str, Any] = {"propagationPolicy": request.query.get("propagationPolicy")}
    query["gracePeriodSeconds"] = request.number("gracePeriodSeconds")
    if "orphanDependents" in request.query:
        query["orphanDependents"] = request.flag("orphanDependents")
    given = {**{field: value for field, value in query.items() if value is not None}, **body}
    options = options_of(request, "DeleteOptions")
    is_dry = given.get("dryRun") == ["All"] or options.dry_run
    return deletion_request(given), replace(options, dry_run=is_dry)


def deletion_request(options: Document) -> DeletionRequest:
    """DeleteOptions as the store takes them."""
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy is not None and orphan is not None:
        text = f'"{policy}": orphanDependents and deletionPropagation cannot be both set'
        raise Invalid.options("DeleteOptions", [field_cause(INVALID, "propagationPolicy", text)])
    preconditions = options.get("preconditions") or {}
    return DeletionRequest(
        grace_seconds=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation=ORPHAN if orphan else policy,
    )


def delete(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """DELETE of one object."""
    how, options = deletion_of(request)
    deleted = registry.delete(target.resource, target.namespace, target.name, how, now, options)
    return _answer(registry, deleted, target, form, now)


def _answer(registry: Registry, deleted: Deleted, target: Target, form: Form, now: int) -> Answer:
    """The object while it still ends, and for pods always; otherwise a Status that names it."""
    resource, entry = target.resource, deleted.entry
    if not deleted.gone or resource.qualified_resource in _ANSWERED_WITH_OBJECT:
        return object_answer(entry, resource, form, now, registry.definitions.printer(resource))
    details = {"name": entry.name, "group": resource.group, "kind": resource.plural, "uid": entry.uid}
    status: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    status["details"] = {field: value for field, value in details.items() if value}
    return Answer(200, encode_json(status))


#: Whose deletion is answered with the object even when it is gone at once.
_ANSWERED_WITH_OBJECT = frozenset(
    {"pods", "persistentvolumeclaims", "persistentvolumes", "resourcequotas", "serviceaccounts", "podtemplates"}
)


def delete_collection(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """DELETE of all that is selected; what is gone meanwhile is no matter."""
    if target.resource.namespaced and not target.namespace:
        raise MethodNotAllowed
    how, options = deletion_of(request)
    selection = selection_of(registry, request, target)
    stored = registry.storage.entries(storage_name(target.resource), target.namespace)
    chosen = [entry for entry in stored if selection.has(served_form(target.resource, entry.document))]
    deleted = []
    for entry in chosen:
        try:
            result = registry.delete(target.resource, entry.namespace, entry.name, how, now, options)
        except NotFound:
            continue
        deleted.append(result.entry)
    metadata = {"resourceVersion": str(registry.storage.version)}
    return list_answer(deleted, target.resource, form, metadata, now, registry.definitions.printer(target.resource))
