"""The scale subresource: one object for everything that has replicas.

Takes the document of a workload, or of a custom resource with the paths that its definition names; gives a Scale, or
the document with the replicas that a Scale asks for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bayplan.apiserver.patching.server_side_apply.scaling import SCALE_API_VERSION
from bayplan.apiserver.registry.documents import metadata_of
from bayplan.apiserver.storage.entries import Document
from bayplan.model.meta import INT32_MAX
from bayplan.store.errors import INVALID, Invalid, field_cause

_COPIED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScalePaths(NamedTuple):
    """Where a document keeps what a Scale shows."""

    replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")

    @property
    def owned(self) -> tuple[str, ...]:
        """The number of replicas as managedFields name it."""
        return tuple(f"f:{step}" for step in self.replicas)


class _ScaleKind:
    """How refusals name a Scale."""

    group, kind, resource = "autoscaling", "Scale", "scales"
    qualified_resource, qualified_kind = "scales.autoscaling", "Scale.autoscaling"


def scale_of(document: Document, paths: ScalePaths) -> Document:
    """The Scale that shows this document."""
    metadata = metadata_of(document)
    spec = {"replicas": replicas} if (replicas := replicas_of(document, paths)) else {}
    status: dict[str, Any] = {"replicas": _at(document, paths.status_replicas) or 0}
    selector = _selector_text(_at(document, paths.selector))
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_API_VERSION,
        "metadata": {field: metadata[field] for field in _COPIED if field in metadata},
        "spec": spec,
        "status": status,
    }


def replicas_of(document: Document, paths: ScalePaths) -> Any:
    """How many replicas the document asks for."""
    return _at(document, paths.replicas)


def scaled(document: Document, scale: Document, paths: ScalePaths) -> Document:
    """The document with the replicas of the Scale, and with its resourceVersion as a precondition."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int) or not 0 <= replicas <= INT32_MAX:
        text = f"{replicas}: must be greater than or equal to 0"
        raise Invalid.of(_ScaleKind(), metadata_of(document)["name"], [field_cause(INVALID, "spec.replicas", text)])
    wished = metadata_of(scale)
    preconditions = {field: wished[field] for field in ("resourceVersion", "uid") if wished.get(field)}
    changed = _with(document, paths.replicas, replicas)
    return {**changed, "metadata": {**metadata_of(document), **preconditions}}


def _at(document: Any, path: tuple[str, ...]) -> Any:
    if not path:
        return None
    for step in path:
        if not isinstance(document, dict):
            return None
        document = document.get(step)
    return document


def _with(document: Document, path: tuple[str, ...], value: Any) -> Document:
    first, *rest = path
    if not rest:
        return {**document, first: value}
    return {**document, first: _with(document.get(first) or {}, tuple(rest), value)}


def _selector_text(selector: Any) -> str:
    """A label selector in the form of a query: `app=web,tier in (a,b)`."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if not {"matchLabels", "matchExpressions"} & selector.keys():  # of a ReplicationController
        return ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    requirements = selector.get("matchExpressions") or []
    terms += [(requirement["key"], _requirement_text(requirement)) for requirement in requirements]
    return ",".join(text for _, text in sorted(terms))


def _requirement_text(requirement: dict[str, Any]) -> str:
    key, operator = requirement["key"], requirement["operator"]
    if operator == "Exists":
        return str(key)
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {operator.lower()} ({','.join(sorted(requirement.get('values') or []))})"
