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


def at(*path: str) -> Getter:
    """The text at a path of fields."""
    *parents, last = path

    def text(document: Mapping[str, Any]) -> str:
        part = document
        for parent in parents:
            part = part.get(parent) or {}
        return part.get(last) or ""

    return text


def fields(*paths: str) -> dict[str, Getter]:
    return {path: at(*path.split(".")) for path in paths}


def number(*path: str) -> Getter:
    text = at(*path)
    return lambda document: str(text(document) or 0)


def flag(*path: str) -> Getter:
    text = at(*path)
    return lambda document: "true" if text(document) else "false"


METADATA = fields("metadata.name", "metadata.namespace")
NAME_ONLY = fields("metadata.name")
NAME_AND_NAMESPACE = SelectableFields(
    METADATA, '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'
)


def custom_fields(resource: Resource, json_paths: Iterable[str]) -> SelectableFields:
    """Of a custom resource: name, namespace if it has one, and the paths that its definition declares selectable."""
    declared = {path.removeprefix("."): _at_json_path(path) for path in json_paths}
    return SelectableFields({**(METADATA if resource.namespaced else NAME_ONLY), **declared})


def _at_json_path(json_path: str) -> Getter:
    path = parse_path(json_path)

    def text(document: Mapping[str, Any]) -> str:
        try:
            found = path([document])
        except PathError:
            return ""
        return "" if not found or found[0] is None else value_text(found[0])

    return text
