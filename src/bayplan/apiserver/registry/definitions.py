"""What is particular to a resource beyond its verbs: how it is admitted, printed, selected, scaled and owned.

Of built-in resources this is known; of custom ones their CustomResourceDefinition says it. Follows the definitions that
are stored: what they define is served from the moment that they are established.
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.custom_resources.definitions import established_status, resources_of
from bayplan.apiserver.custom_resources.versions import CustomVersion, versions_of
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.patching.server_side_apply.scopes import Scope, custom_scope, scope_of
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.scaling import ScalePaths
from bayplan.apiserver.schema.openapi_custom import custom_definitions
from bayplan.apiserver.schema.openapi_schemas import SchemaDialect
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.selecting.selectable_fields import SelectableFields
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.apiserver.tables.columns import Printer
from bayplan.model.watch_types import DELETED

CUSTOM_RESOURCE_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_USUAL_PATHS = ScalePaths()


class Definitions:
    """The particulars of every resource that is served."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._versions: dict[tuple[str, str], CustomVersion] = {}
        """By apiVersion and kind."""
        self._stored: dict[str, Document] = {}

    # Following the definitions.

    def follow(self, change: DocumentChange) -> None:
        """Serves what a definition says once it is stored, and no longer once it is gone."""
        if change.resource != CUSTOM_RESOURCE_DEFINITIONS:
            return
        if change.type == DELETED:
            self._forget(change.new.name)
        else:
            self.restore(change.new)

    def restore(self, entry: Entry) -> None:
        """Serves what a stored definition says."""
        self._forget(entry.name)
        definition = entry.document
        self._stored[entry.name] = definition
        resources = resources_of(definition)
        self._catalogue.define(entry.name, resources)
        if resources:
            for version in versions_of(definition):
                self._versions[version.resource.api_version, version.resource.kind] = version

    def serve(self, name: str, version: CustomVersion) -> None:
        """Serves what no stored definition says, under a name that none can have."""
        self._catalogue.define(name, [version.resource])
        self._versions[version.resource.api_version, version.resource.kind] = version

    def _forget(self, name: str) -> None:
        definition = self._stored.pop(name, None)
        if definition is None:
            return
        group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
        self._versions = {
            key: version
            for key, version in self._versions.items()
            if (version.resource.group, version.resource.kind) != (group, kind)
        }
        self._catalogue.define(name, [])

    def established(self, definition: Document, now: int) -> Document:
        """A definition with the status that makes it serve."""
        return {**definition, "status": established_status(definition, self._stored.values(), now)}

    # Asking.

    def custom(self, resource: Resource) -> CustomVersion | None:
        """What a definition says of the resource; None of built-in ones."""
        return self._versions.get((resource.api_version, resource.kind))

    def printer(self, resource: Resource) -> Printer:
        version = self.custom(resource)
        return kind_of(resource).printer if version is None else version.printer

    def selectable_fields(self, resource: Resource) -> SelectableFields:
        version = self.custom(resource)
        return kind_of(resource).selectable if version is None else version.selectable_fields

    def scope(self, resource: Resource, subresource: str = "") -> Scope:
        """Which fields a write can own."""
        version = self.custom(resource)
        if version is None:
            return scope_of(resource, subresource)
        schema: Any = version.openapi
        return custom_scope(
            resource.api_version, resource.kind, schema, has_status=version.has_status, subresource=subresource
        )

    def scale_paths(self, resource: Resource) -> ScalePaths:
        version = self.custom(resource)
        if version is None or version.scale is None:
            return _USUAL_PATHS
        paths = version.scale
        return ScalePaths(
            _steps(paths["specReplicasPath"]),
            _steps(paths["statusReplicasPath"]),
            _steps(paths.get("labelSelectorPath", "")),
        )

    def openapi(self, form: SchemaDialect, api_version: str = "") -> dict[str, Any]:
        """The schemas of custom kinds, of one version or of all, as OpenAPI documents have them."""
        found: dict[str, Any] = {}
        for version in [*self._versions.values()]:
            if api_version in ("", version.resource.api_version):
                found |= custom_definitions(version.resource, dict(version.openapi or {}), form)
        return found


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split(".") if step)
