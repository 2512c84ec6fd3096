"""The fields that an applied configuration mentions.

`fields_of` takes a document and its shape and gives the set of its fields: leaves, entries of maps and items of lists;
a declared field that only contains others is not in it. `with_named_fields` adds those, for removing. `faults_of` lists
what does not fit the shape, in the server's words.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bayplan.apiserver.patching.go_values import go_text
from bayplan.apiserver.patching.server_side_apply.field_sets import LEAF, FieldSet, difference, in_order, with_self
from bayplan.apiserver.patching.server_side_apply.list_items import Untypable
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD, KEY, SELF, readable
from bayplan.apiserver.patching.server_side_apply.shapes import Shape

_METADATA_ITSELF: FieldSet = {FIELD + "metadata": LEAF}
"""Every object has metadata, so nobody owns that it does."""


def fields_of(document: dict[str, Any], shape: Shape) -> FieldSet:
    return difference(_members_of(document, shape), _METADATA_ITSELF)


def _node_of(value: Any, shape: Shape) -> FieldSet | None:
    """The node of a value; None if nothing in it is a field."""
    if isinstance(value, dict) and shape.splits_by_name:
        return _members_of(value, shape) or None
    if isinstance(value, list) and shape.splits_by_item:
        return _items_of(value, shape) or None
    return None if value is None and shape.splits else LEAF


def _members_of(value: dict[str, Any], shape: Shape) -> FieldSet:
    members = {}
    for name, member in value.items():
        inner = shape.owned_member(name)
        if inner is None:
            continue
        node = _node_of(member, inner)
        if member is None or member == {} or name not in shape.fields:
            node = with_self(node)
        if node is not None:
            members[FIELD + name] = node
    return in_order(members)


def _items_of(items: list[Any], shape: Shape) -> FieldSet:
    element_of, inner = shape.element_of, shape.item
    elements = [element_of(item) for item in items]
    counts = Counter(elements)
    return in_order(
        {
            element: LEAF if counts[element] > 1 else with_self(_node_of(item, inner))
            for element, item in zip(elements, items, strict=True)
        }
    )


def with_named_fields(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set together with the declared fields that lead to its members."""
    result = {}
    for element, node in fields.items():
        if element == SELF or not node:
            result[element] = node
            continue
        name = element.removeprefix(FIELD)
        is_name = element.startswith(FIELD) and shape is not None and shape.splits_by_name
        inner = shape.member(name) if is_name and shape else None
        if element.startswith(KEY) and shape is not None and shape.splits_by_item:
            inner = shape.item
        below = with_named_fields(node, inner)
        result[element] = with_self(below) if is_name and shape and name in shape.fields else below
    return result


# -- faults


def faults_of(value: Any, shape: Shape) -> Iterator[str]:
    """Each fault as `path: what is wrong`."""
    for path, fault in _faults(value, shape):
        yield f"{path}: {fault}" if path else fault


def _faults(value: Any, shape: Shape) -> Iterator[tuple[str, str]]:
    if value is None or not shape.expected:
        return
    if shape.expected == "map":
        if isinstance(value, dict):
            yield from _faults_of_members(value, shape)
        else:
            yield "", f"expected map, got &{{{go_text(value)}}}"
    elif shape.expected == "list":
        if isinstance(value, list):
            yield from _faults_of_items(value, shape)
        else:
            yield "", f"expected list, got &{{{go_text(value)}}}"
    elif fault := _fault_of_scalar(value, shape.expected):
        yield "", fault


def _fault_of_scalar(value: Any, expected: str) -> str:
    match expected, value:
        case ("string", str()) | ("boolean", bool()) | ("untyped", str() | int() | float()):
            return ""
        case "string", _:
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        case "boolean", _:
            return f"expected boolean, got &{{{go_text(value)}}}"
        case "untyped", _:
            return f"expected any scalar, got &{{{go_text(value)}}}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ""
    return f"expected numeric (int or float), got {_go_type(value)}"


def _go_type(value: Any) -> str:
    return {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}[type(value)]


def _go_syntax(value: Any) -> str:
    match value:
        case dict():
            members = (f"{json.dumps(key)}:{_go_syntax(value[key])}" for key in sorted(value))
            return "map[string]interface {}{" + ", ".join(members) + "}"
        case list():
            return "[]interface {}{" + ", ".join(map(_go_syntax, value)) + "}"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return go_text(value)


def _faults_of_members(value: dict[str, Any], shape: Shape) -> Iterator[tuple[str, str]]:
    for name in sorted(value):
        inner = shape.member(name)
        if inner is None:
            yield f".{name}", "field not declared in schema"
            return
        for path, fault in _faults(value[name], inner):
            yield f".{name}{path}", fault


def _faults_of_items(items: list[Any], shape: Shape) -> Iterator[tuple[str, str]]:
    inner = shape.element
    element_of = shape.element_of if shape.splits_by_item else None
    seen = set()
    for index, item in enumerate(items):
        place = f"[{index}]"
        if element_of is not None:
            try:
                element = element_of(item)
            except Untypable as error:
                yield "", f"element {index}: {error}"
                return
            place = readable(element)
            if element in seen:
                yield "", f"duplicate entries for key {place}"
            seen.add(element)
        if inner is not None:
            for path, fault in _faults(item, inner):
                yield f"{place}{path}", fault
