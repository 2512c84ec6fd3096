"""Parts of documents as an API server's own types show them, which some of its refusals print.

`internal` takes a part and the name of its type and gives it under Go's names, with every field there is.
`difference` compares two parts in that form, as the refusals of changes end with it. `internal_forms.txt` lists the
types: a line for each field with Go's name, the name in documents, and the type. In front of a type: `*` may be
absent, `[]` list, `{}` map. `raw` is shown under its names in documents, with sorted keys, and `verbatim` just as it
was sent. `^` in front of a name: the field is the parent's in documents; `~` instead of Go's name: metadata, whose
fields are among the type's own. Only types that refusals print are there; `internal_forms_1.37.txt` has those that
differ from that version on, if there is such a file.
"""

from __future__ import annotations

import difflib
import json
from importlib import resources
from typing import Any, NamedTuple

from bayplan.apiserver.admitting.documents import Document, is_emptied
from bayplan.apiserver.admitting.validation.faults import shown_selector
from bayplan.apiserver.schema.go_order import in_go_order
from bayplan.apiserver.schema.messages import message
from bayplan.apiserver.schema.versions import cached_by_version, later_than_first, served_version

_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0", "int_or_string": 0}


class _Field(NamedTuple):
    go_name: str
    name: str
    type: str


def internal(part: Document, type_name: str, parent: Document | None = None) -> Document:
    """The part as the server's own type."""
    made: Document = {}
    for field in _fields(type_name):
        if field.go_name == "~":
            metadata = part.get("metadata", {})
            made.update(in_go_order(metadata, message("meta.v1.ObjectMeta")))
        else:
            owner, name = (parent or {}) if field.name.startswith("^") else part, field.name.removeprefix("^")
            value = owner.get(name)
            if value is None and is_emptied(owner, name):
                value = [] if field.type.startswith("[]") else {} if field.type.startswith("{}") else None
            made[field.go_name] = _value(value, field.type, part)
    return made


def _value(value: Any, kind: str, parent: Document) -> Any:
    if kind.startswith("[]"):
        return [_value(item, kind[2:], parent) for item in value] if value is not None else None
    if kind.startswith("{}"):
        return {key: _value(value[key], kind[2:], parent) for key in sorted(value)} if value is not None else None
    if kind.startswith("*"):
        return _value(value, kind[1:], parent) if value is not None else None
    if kind in _ZEROS:
        return _ZEROS[kind] if value is None else value
    if kind == "raw":
        return _raw(value)
    if kind == "verbatim":
        return value
    if kind.startswith("JSONSchemaPropsOr"):
        return internal(_wrapped(value), kind)
    return internal(value or {}, kind, parent)


def _wrapped(value: Any) -> Document:
    """A schema, or what may stand in its place, as the fields of a type."""
    if isinstance(value, dict):
        return {"schema": value, "allows": True}
    return {"schemas": value} if isinstance(value, list) else {"allows": value is True}


def _raw(value: Any) -> Any:
    """A part that is shown under its names in documents: a label selector, or a map."""
    if not isinstance(value, dict):
        return value
    return shown_selector(value) if {"matchLabels", "matchExpressions"} & value.keys() else dict(sorted(value.items()))


def _fields(type_name: str) -> tuple[_Field, ...]:
    return _types()[type_name]


@cached_by_version
def _types() -> dict[str, tuple[_Field, ...]]:
    found = {}
    for suffix in ("", *(f"_{version}" for version in later_than_first(served_version()))):
        file = resources.files(__package__) / f"internal_forms{suffix}.txt"
        if not file.is_file():  # nothing differs from that version on
            continue
        for paragraph in file.read_text(encoding="utf-8").split("\n\n"):
            name, *lines = paragraph.splitlines()
            found[name] = tuple(_Field(*line.split()) for line in lines)
    return found


def difference(old: Document, new: Document, type_name: str) -> str:
    """What changed between two parts, in the form of a patch."""
    before, after = (_lines(internal(part, type_name)) for part in (old, new))
    # The first two lines name files, which there are none of.
    return "".join([*difflib.unified_diff(before, after)][2:])


def _lines(part: Document) -> list[str]:
    return [f"{line}\n" for line in json.dumps(part, indent=1, ensure_ascii=False).split("\n")]
