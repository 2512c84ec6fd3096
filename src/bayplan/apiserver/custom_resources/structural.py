"""The OpenAPI schema of a custom resource, read once into nodes that are quick to walk.

Takes `openAPIV3Schema` as a definition holds it. Formats that upstream does not know for a type are dropped, as
upstream drops them. Says nothing about documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from bayplan.apiserver.custom_resources.formats import is_of_texts

UNSET: Any = object()
"""In place of a default that is not given: null would be one."""

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


class Schema:
    """One node: what it says about the value, and the nodes of what is inside."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.source = source
        is_int_or_string = bool(source.get("x-kubernetes-int-or-string"))
        self.type: str = source.get("type", "")
        self.types = ("integer", "string") if is_int_or_string else (self.type,) if self.type else ()
        self.format = _known_format(self.types, source.get("format", ""))
        self.is_nullable = bool(source.get("nullable"))
        self.default = source.get("default", UNSET)
        self.keeps_unknown = bool(source.get("x-kubernetes-preserve-unknown-fields"))
        self.is_embedded = bool(source.get("x-kubernetes-embedded-resource"))
        self.list_type: str = source.get("x-kubernetes-list-type", "")
        self.list_map_keys: list[str] = source.get("x-kubernetes-list-map-keys") or []
        self.required: list[str] = source.get("required") or []
        self.enum: list[Any] = source.get("enum") or []
        self.rules: list[Mapping[str, Any]] = source.get("x-kubernetes-validations") or []

    # Made on first use: a definition may have thousands of nodes, and most documents touch few.

    @cached_property
    def properties(self) -> dict[str, Schema]:
        return {name: Schema(part) for name, part in (self.source.get("properties") or {}).items()}

    @cached_property
    def additional(self) -> Schema | None:
        """Of values under any other key; None if other keys are unknown fields."""
        part = self.source.get("additionalProperties")
        return None if part is None or part is False else Schema({} if part is True else part)

    @cached_property
    def items(self) -> Schema | None:
        part = self.source.get("items")
        return Schema(part) if isinstance(part, dict) else None

    @cached_property
    def any_of(self) -> list[Schema]:
        return self._several("anyOf")

    @cached_property
    def one_of(self) -> list[Schema]:
        return self._several("oneOf")

    @cached_property
    def all_of(self) -> list[Schema]:
        return self._several("allOf")

    @cached_property
    def not_schema(self) -> Schema | None:
        part = self.source.get("not")
        return None if part is None else Schema(part)

    @cached_property
    def has_rules(self) -> bool:
        """Whether there are CEL rules here or anywhere below."""
        return bool(self.rules) or any(inner.has_rules for inner in self._inner())

    def _several(self, field: str) -> list[Schema]:
        return [Schema(part) for part in self.source.get(field) or ()]

    def _inner(self) -> list[Schema]:
        return [*self.properties.values(), *(inner for inner in (self.additional, self.items) if inner is not None)]

    def of_field(self, name: str) -> Schema | None:
        """Of the value under a key; None if the key is unknown."""
        known = self.properties.get(name)
        return self.additional if known is None else known


def _known_format(types: tuple[str, ...], name: str) -> str:
    if types in ((), ("string",)):
        return name if is_of_texts(name) else ""
    if len(types) == 1 and types[0] in _NUMBER_FORMATS:
        return name if name in _NUMBER_FORMATS[types[0]] else ""
    return ""
