"""One served version of a custom resource: what becomes of a document on its way in, and how it is shown and selected.

`receive` gives the document as it is stored, with the unknown fields that were taken out; the `validate_…` methods give
what is wrong with it. Metadata is the same for all objects and is judged elsewhere, and so is who may write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.defaulting import with_defaults
from bayplan.apiserver.custom_resources.definitions import Definition, resource_of_version, served_versions
from bayplan.apiserver.custom_resources.lists import embedded_faults, list_faults
from bayplan.apiserver.custom_resources.pruning import prune, without_nulls
from bayplan.apiserver.custom_resources.rules import NOT_CHECKED, rule_faults
from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.apiserver.custom_resources.validation import schema_faults
from bayplan.apiserver.json_paths import value_text
from bayplan.apiserver.selecting.selectable_fields import custom_fields
from bayplan.apiserver.tables.custom_columns import custom_printer
from bayplan.model.meta import INT32_MAX
from bayplan.store.errors import INVALID, REQUIRED, TOO_LONG, TOO_MANY, UNSUPPORTED, StatusCause, field_cause

Document = dict[str, Any]

_BLOCKING = (REQUIRED, UNSUPPORTED, TOO_LONG, TOO_MANY, faults.TYPE_INVALID)
"""Faults with which rules are not worth asking."""
_GO_TYPES = ((str, "string"), (bool, "bool"), (float, "float64"), (list, "[]interface {}"), (type(None), "<nil>"))


class CustomVersion:
    """What a definition says about one version."""

    def __init__(self, definition: Definition, version: Mapping[str, Any]) -> None:
        self.resource = resource_of_version(definition, version)
        self.openapi: Mapping[str, Any] | None = (version.get("schema") or {}).get("openAPIV3Schema")
        self.printer = custom_printer(version.get("additionalPrinterColumns") or ())
        paths = (field["jsonPath"] for field in version.get("selectableFields") or ())
        self.selectable_fields = custom_fields(self.resource, paths)
        declared = version.get("subresources") or {}
        self.has_status = declared.get("status") is not None
        self.scale: Mapping[str, str] | None = declared.get("scale")
        """Paths of the fields that a Scale shows: specReplicasPath, statusReplicasPath, labelSelectorPath."""
        self._keeps_unknown = bool(definition["spec"].get("preserveUnknownFields"))
        self._schema = Schema(self.openapi or {})

    @property
    def has_rules(self) -> bool:
        """Whether there are expressions to evaluate."""
        return self._schema.has_rules

    def receive(self, document: Document) -> tuple[Document, list[str]]:
        """The document with defaults and without unknown fields, and the paths of those."""
        unknown: list[str] = []
        if not self._keeps_unknown:
            document, unknown = prune(document, self._schema)
            document = without_nulls(document, self._schema)
        return with_defaults(document, self._schema), unknown

    def validate_create(self, document: Document) -> list[StatusCause]:
        causes = schema_faults(document, self._schema)
        causes += self._scale_faults(document, "specReplicasPath", "statusReplicasPath")
        causes += embedded_faults(document, self._schema)
        causes += list_faults(document, self._schema)
        return self._with_rules(document, UNSET, causes)

    def validate_update(self, document: Document, old: Document) -> list[StatusCause]:
        """What was wrong before and has not changed may stay."""
        causes = schema_faults(document, self._schema, old=old)
        causes += self._scale_faults(document, "specReplicasPath", "statusReplicasPath")
        causes += embedded_faults(document, self._schema)
        causes += self._new_list_faults(document, old)
        return self._with_rules(document, old, causes)

    def validate_status(self, document: Document, old: Document) -> list[StatusCause]:
        """Of an update of the status alone."""
        schema = self._schema.properties.get("status")
        causes: list[StatusCause] = []
        if schema is not None and "status" in document:
            causes += schema_faults(document["status"], schema, "status", old.get("status", UNSET))
        causes += self._scale_faults(document, "statusReplicasPath")
        causes += self._new_list_faults(document, old)
        return self._with_rules(document, old, causes)

    def _new_list_faults(self, document: Document, old: Document) -> list[StatusCause]:
        return [] if any(list_faults(old, self._schema)) else [*list_faults(document, self._schema)]

    def _with_rules(self, document: Document, old: Any, causes: list[StatusCause]) -> list[StatusCause]:
        if not self._schema.has_rules:
            return causes
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, faults.invalid("", None, NOT_CHECKED)]
        return [*causes, *rule_faults(document, self._schema, old)]

    def _scale_faults(self, document: Document, *fields: str) -> list[StatusCause]:
        scale = self.scale or {}
        paths = [scale[field] for field in fields if field in scale]
        return [field_cause(INVALID, path, fault) for path in paths if (fault := _replicas_fault(document, path))]


def _replicas_fault(document: Document, path: str) -> str:
    """What is wrong with the number of replicas at a path, after the number itself."""
    part: Any = document
    for name in path.removeprefix(".").split("."):
        if not isinstance(part, dict) or name not in part:
            return ""
        part = part[name]
    if not isinstance(part, int) or isinstance(part, bool):
        kind = next((name for of, name in _GO_TYPES if isinstance(part, of)), "map[string]interface {}")
        return f"0: {path} accessor error: {value_text(part)} is of the type {kind}, expected int64"
    if part < 0:
        return f"{part}: should be a non-negative integer"
    return f"{part}: should be less than or equal to {INT32_MAX}" if part > INT32_MAX else ""


def versions_of(definition: Definition) -> list[CustomVersion]:
    """All served versions, the most stable one first."""
    return [CustomVersion(definition, version) for version in served_versions(definition)]
