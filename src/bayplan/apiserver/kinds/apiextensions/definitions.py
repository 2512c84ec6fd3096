"""CustomResourceDefinition."""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.extending import default_definition
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.extending import check_definition, check_definition_update
from bayplan.apiserver.custom_resources.rule_checks import rule_causes
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Invalid


def _create(definition: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    versions = definition["spec"]["versions"] or ()
    definition["status"]["storedVersions"] = [version["name"] for version in versions if version["storage"]]


def _check_rules(resource: Resource, definition: Document, old: Document | None, cluster: ClusterView) -> None:  # noqa: ARG001
    """Refuses rules that do not compile or cost too much, unless they were there before."""
    if old is not None and old["spec"]["versions"] == definition["spec"]["versions"]:
        return
    causes = rule_causes(definition)
    if causes:
        raise Invalid.of(resource, definition["metadata"]["name"], causes)


CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    defaults=default_definition,
    on_create=_create,
    check=check_definition,
    check_update=check_definition_update,
    admit=_check_rules,
    watched=("spec",),
    update_needs_version=True,
)
