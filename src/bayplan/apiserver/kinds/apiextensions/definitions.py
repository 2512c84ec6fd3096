"""CustomResourceDefinition."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.extending import default_definition
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.extending import check_definition, check_definition_update
from bayplan.apiserver.kinds.contract import Kind


def _create(definition: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    versions = definition["spec"]["versions"] or ()
    definition["status"]["storedVersions"] = [version["name"] for version in versions if version["storage"]]


CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    defaults=default_definition,
    on_create=_create,
    check=check_definition,
    check_update=check_definition_update,
    watched=("spec",),
)
