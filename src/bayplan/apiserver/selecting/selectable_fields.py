"""Which fields the documents of a resource can be selected by, and what each is as text.

Fields are named as the API version names them; an absent one is empty text. Resources without fields of their own have
their name and namespace. A refusal is worded as upstream words it for that resource.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bayplan.apiserver.json_paths import PathError, parse_path, value_text
from bayplan.apiserver.schema.resources import Resource

Getter = Callable[[Mapping[str, Any]], str]
"""The text of one field of a document."""


class SelectableFields:
    """The fields of one resource, and the words for any other."""

    def __init__(self, getters: Mapping[str, Getter], refusal: str = "field label not supported: {field}") -> None:
        self._getters = getters
        self._refusal = refusal

    def getter(self, field: str) -> Getter | None:
        return self._getters.get(field)

    def refusal(self, field: str) -> str:
        """Why the field cannot be used."""
        return self._refusal.format(field=field, quoted=json.dumps(field, ensure_ascii=False))


def _at(*path: str) -> Getter:
    """The text at a path of fields."""
    *parents, last = path

    def text(document: Mapping[str, Any]) -> str:
        part = document
        for parent in parents:
            part = part.get(parent) or {}
        return part.get(last) or ""

    return text


def _fields(*paths: str) -> dict[str, Getter]:
    return {path: _at(*path.split(".")) for path in paths}


def _number(*path: str) -> Getter:
    text = _at(*path)
    return lambda document: str(text(document) or 0)


def _flag(*path: str) -> Getter:
    text = _at(*path)
    return lambda document: "true" if text(document) else "false"


def _nothing(_document: Mapping[str, Any]) -> str:
    return ""


def _first_pod_address(pod: Mapping[str, Any]) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or ""


_METADATA = _fields("metadata.name", "metadata.namespace")
_NAME_ONLY = _fields("metadata.name")
_DEFAULT = SelectableFields(
    _METADATA, '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'
)


def _pod_fields() -> dict[str, Getter]:
    plain = _fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.nominatedNodeName",
    )
    return {
        **_METADATA,
        **plain,
        "spec.host": plain["spec.nodeName"],
        "spec.hostNetwork": _flag("spec", "hostNetwork"),
        "status.podIP": _first_pod_address,
        # Upstream takes this field, yet knows no value of it.
        "status.podIPs": _nothing,
    }


_REFERENCE_PARTS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _event_fields(reference: str, controller: str) -> dict[str, Getter]:
    """Events have other names for the same fields in the two groups."""
    return {
        **_METADATA,
        **_fields("reason", "type"),
        **{
            f"{reference}.{part}": _of_event(_at("involvedObject", part), _at("regarding", part))
            for part in _REFERENCE_PARTS
        },
        controller: _of_event(_at("reportingComponent"), _at("reportingController")),
    }


def _of_event(in_core: Getter, in_events: Getter) -> Getter:
    return lambda event: in_core(event) or in_events(event)


_EVENT_SOURCE = _of_event(
    _of_event(_at("source", "component"), _at("deprecatedSource", "component")),
    _of_event(_at("reportingComponent"), _at("reportingController")),
)

_BUILT_IN = {
    ("", "pods"): SelectableFields(_pod_fields()),
    ("", "events"): SelectableFields(
        {**_event_fields("involvedObject", "reportingComponent"), "source": _EVENT_SOURCE}
    ),
    ("events.k8s.io", "events"): SelectableFields(_event_fields("regarding", "reportingController")),
    ("", "nodes"): SelectableFields({**_NAME_ONLY, "spec.unschedulable": _flag("spec", "unschedulable")}),
    ("", "namespaces"): SelectableFields({**_NAME_ONLY, **_fields("status.phase")}),
    ("", "secrets"): SelectableFields({**_METADATA, **_fields("type")}),
    ("", "services"): SelectableFields({**_METADATA, **_fields("spec.clusterIP", "spec.type")}),
    ("", "replicationcontrollers"): SelectableFields({**_METADATA, "status.replicas": _number("status", "replicas")}),
    ("batch", "jobs"): SelectableFields(
        {**_METADATA, "status.successful": _number("status", "succeeded")}, "field label {quoted} not supported for Job"
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): SelectableFields(
        {**_NAME_ONLY, **_fields("spec.signerName")}
    ),
    ("resource.k8s.io", "resourceslices"): SelectableFields(
        {**_NAME_ONLY, **_fields("spec.nodeName", "spec.driver")},
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}",
    ),
}


def fields_of(resource: Resource) -> SelectableFields:
    """Of a built-in resource."""
    return _BUILT_IN.get((resource.group, resource.plural), _DEFAULT)


def custom_fields(resource: Resource, json_paths: Iterable[str]) -> SelectableFields:
    """Of a custom resource: name, namespace if it has one, and the paths that its definition declares selectable."""
    declared = {path.removeprefix("."): _at_json_path(path) for path in json_paths}
    return SelectableFields({**(_METADATA if resource.namespaced else _NAME_ONLY), **declared})


def _at_json_path(json_path: str) -> Getter:
    path = parse_path(json_path)

    def text(document: Mapping[str, Any]) -> str:
        try:
            found = path([document])
        except PathError:
            return ""
        return "" if not found or found[0] is None else value_text(found[0])

    return text
