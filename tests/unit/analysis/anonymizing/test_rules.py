"""Every text that an object can hold has a rule."""

from __future__ import annotations

import types
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from bayplan.analysis.anonymizing.rules import EXCEPTIONS, FIELDS, rule_of
from bayplan.model.kinds import KINDS
from bayplan.model.resource_claims import DeviceAttribute


def fields_with_text() -> set[tuple[type, str]]:
    """All fields of all kinds that hold text, by the type of their part."""
    found: set[tuple[type, str]] = set()
    todo: list[type] = [info.struct for info in KINDS.values()]
    seen: set[type] = set()
    while todo:
        part = todo.pop()
        if part in seen or part is DeviceAttribute:  # has a module of its own
            continue
        seen.add(part)
        for field in msgspec.structs.fields(part):
            for inner in types_in(field.type):
                if inner is str:
                    found.add((part, field.name))
                elif isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                    todo.append(inner)
    return found


def types_in(wanted: Any) -> list[Any]:
    """The plain types of a field, those of its items and keys included."""
    if get_origin(wanted) is Annotated:
        return types_in(get_args(wanted)[0])
    if get_origin(wanted) in (list, tuple, dict, Union, types.UnionType):
        return [inner for argument in get_args(wanted) for inner in types_in(argument)]
    return [wanted]


def test_every_field_with_text_has_a_rule_and_every_rule_a_field() -> None:
    with_text = fields_with_text()
    unruled = {(part.__name__, field) for part, field in with_text if (part, field) not in EXCEPTIONS}
    unruled = {(part, field) for part, field in unruled if field not in FIELDS}
    assert unruled == set()
    assert set(FIELDS) - {field for _, field in with_text} == set()
    assert set(EXCEPTIONS) - with_text == set()


def test_a_field_that_nobody_has_thought_about_is_refused() -> None:
    with pytest.raises(KeyError):
        rule_of(str, "brand_new")
