"""CustomResourceDefinition."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.extending import default_definition
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.custom_resources.definition_checks import (
    check_definition,
    check_definition_status,
    check_definition_update,
)
from bayplan.apiserver.kinds.contract import Kind


def _create(definition: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    versions = definition["spec"]["versions"] or ()
    definition["status"]["storedVersions"] = [version["name"] for version in versions if version["storage"]][:1]


def _update(definition: Document, old: Document) -> None:  # noqa: ARG001 - other kinds need the old one
    status = definition.get("status") or {}
    stored = status.get("storedVersions") or []
    storage = [version["name"] for version in definition["spec"]["versions"] or () if version["storage"]][:1]
    added = [name for name in storage if name not in stored]
    if added:
        definition["status"] = {**status, "storedVersions": [*stored, *added]}


CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    defaults=default_definition,
    on_create=_create,
    on_update=_update,
    check=check_definition,
    check_update=check_definition_update,
    subresources={"status": check_definition_status},
    watched=("spec",),
    update_needs_version=True,
    any_finalizers=True,
)
