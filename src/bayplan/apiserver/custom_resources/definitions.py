"""What a CustomResourceDefinition serves, and its status once its names are accepted and it is established.

Takes definitions as documents with their defaults set; whether they are valid was decided before. Conversion between
versions is not looked at: only the strategy None is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.apiserver.schema.resources import SUBRESOURCE_VERBS, Resource, Subresource
from bayplan.model.timestamps import format_time

Definition = Mapping[str, Any]

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a definition that is deleted until its objects are gone."""

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {"alpha": 1, "beta": 2, None: 3}
_RESOURCE_NAMES, _KIND_NAMES = ("plural", "singular"), ("kind", "listKind")


def is_established(definition: Definition) -> bool:
    return _condition(definition, "Established").get("status") == "True"


def resources_of(definition: Definition) -> list[Resource]:
    """What the definition serves, the most stable version first; nothing before it is established."""
    if not is_established(definition):
        return []
    return [resource_of_version(definition, version) for version in served_versions(definition)]


def served_versions(definition: Definition) -> list[Mapping[str, Any]]:
    """The versions that are served: v2 before v1 before v1beta2, other names last in alphabetical order."""
    versions = [version for version in definition["spec"]["versions"] if version.get("served")]
    return sorted(sorted(versions, key=lambda version: version["name"]), key=_priority, reverse=True)


def _priority(version: Mapping[str, Any]) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(version["name"])
    return (0, 0, 0) if match is None else (_STABILITY[match[2]], int(match[1]), int(match[3] or 0))


def resource_of_version(definition: Definition, version: Mapping[str, Any]) -> Resource:
    spec, names = definition["spec"], (definition.get("status") or {}).get("acceptedNames") or {}
    names = {**spec["names"], **names}
    storage = next((other["name"] for other in spec["versions"] if other.get("storage")), version["name"])
    is_terminating = _condition(definition, "Terminating").get("status") == "True"
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        verbs=_TERMINATING_VERBS if is_terminating else _VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_subresources(version, names["kind"])),
        stored_as="" if storage == version["name"] else f"{spec['group']}/{storage}",
    )


def _subresources(version: Mapping[str, Any], kind: str) -> Iterable[Subresource]:
    declared = version.get("subresources") or {}
    if declared.get("status") is not None:
        yield Subresource("status", kind)
    if declared.get("scale") is not None:
        yield Subresource("scale", "Scale", SUBRESOURCE_VERBS, group="autoscaling", version="v1")


def established_status(definition: Definition, others: Iterable[Definition], now: int) -> dict[str, Any]:
    """The status that upstream's controllers give the definition, beside the other definitions there are."""
    accepted, conflict = _accepted_names(definition, [other for other in others if _may_conflict(definition, other)])
    time = format_time(now)
    if conflict is None:
        names_accepted = _new_condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", time)
        text = "the initial names have been accepted"
        established = _new_condition("Established", "True", "InitialNamesAccepted", text, time)
    else:
        names_accepted = _new_condition("NamesAccepted", "False", *conflict, time)
        established = _new_condition("Established", "False", "NotAccepted", "not all names are accepted", time)
    if is_established(definition):
        established = dict(_condition(definition, "Established"))
    return {
        "conditions": [_kept(definition, names_accepted), _kept(definition, established), *_others(definition)],
        "acceptedNames": accepted,
        "storedVersions": _stored_versions(definition),
    }


def deleted(definition: dict[str, Any], now: int) -> dict[str, Any]:
    """A definition after the first request to delete it: it stays until its objects are gone."""
    # Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go Delete (v1.36).
    finalizers = definition["metadata"].get("finalizers") or []
    if CLEANUP_FINALIZER not in finalizers:
        finalizers = [*finalizers, CLEANUP_FINALIZER]
    metadata = {**definition["metadata"], "deletionTimestamp": format_time(now), "finalizers": finalizers}
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    marked = {**definition, "metadata": metadata}
    return with_condition(marked, "Terminating", "True", "InstanceDeletionPending", text, now)


def with_condition(
    definition: dict[str, Any], kind: str, status: str, reason: str, message: str, now: int
) -> dict[str, Any]:
    """The definition with a condition of its status set; itself if it has that already."""
    condition = _kept(definition, _new_condition(kind, status, reason, message, format_time(now)))
    if _condition(definition, kind) == condition:
        return definition
    conditions = (definition.get("status") or {}).get("conditions") or ()
    others = [other for other in conditions if other["type"] != kind]
    return {**definition, "status": {**(definition.get("status") or {}), "conditions": [*others, condition]}}


def _may_conflict(definition: Definition, other: Definition) -> bool:
    is_same = other["metadata"]["name"] == definition["metadata"]["name"]
    return not is_same and other["spec"]["group"] == definition["spec"]["group"]


def _accepted_names(definition: Definition, others: list[Definition]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The names that are free, and the last conflict: its reason and message."""
    wanted = definition["spec"]["names"]
    held = (definition.get("status") or {}).get("acceptedNames") or {}
    taken = [(other.get("status") or {}).get("acceptedNames") or {} for other in others]
    short_names = [name for names in taken for name in names.get("shortNames") or ()]
    resources = {*short_names, *(names.get(field) for names in taken for field in _RESOURCE_NAMES)}
    kinds = {names.get(field) for names in taken for field in _KIND_NAMES}
    accepted, conflict = dict(held), None
    for field, used in (*((name, resources) for name in _RESOURCE_NAMES), *((name, kinds) for name in _KIND_NAMES)):
        name = wanted.get(field)
        if name in used and name != held.get(field):
            conflict = f"{field[0].upper()}{field[1:]}Conflict", f'"{name}" is already in use'
        elif name:
            accepted[field] = name
    clashes = [name for name in wanted.get("shortNames") or () if name in resources - {*(held.get("shortNames") or ())}]
    if clashes:
        conflict = "ShortNamesConflict", ", ".join(f'"{name}" is already in use' for name in clashes)
    else:
        accepted["shortNames"] = wanted.get("shortNames")
    accepted["categories"] = wanted.get("categories")
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {field: accepted[field] for field in order if accepted.get(field)}, conflict


def _new_condition(kind: str, status: str, reason: str, message: str, time: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}


def _kept(definition: Definition, condition: dict[str, Any]) -> dict[str, Any]:
    """With the time of the last transition, if this is none."""
    old = _condition(definition, condition["type"])
    if old.get("status") == condition["status"]:
        return {**condition, "lastTransitionTime": old["lastTransitionTime"]}
    return condition


def _others(definition: Definition) -> list[Mapping[str, Any]]:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return [condition for condition in conditions if condition["type"] not in ("NamesAccepted", "Established")]


def _stored_versions(definition: Definition) -> list[str]:
    stored = list((definition.get("status") or {}).get("storedVersions") or ())
    storage = [version["name"] for version in definition["spec"]["versions"] if version.get("storage")]
    return [*stored, *(name for name in storage if name not in stored)]


def _condition(definition: Definition, kind: str) -> Mapping[str, Any]:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == kind), {})
