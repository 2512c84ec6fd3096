"""Merging an applied configuration into an object, and removing fields from one.

`merged` takes the live document and the applied one and gives their union, in which the applied one's values win;
fields are never lost. `without_fields` takes a document and a set of fields and gives the document without them. Nulls
mean absent: they are not in results.
"""

from collections import Counter, deque
from typing import Any

from bayplan.apiserver.patching.merge_patch import without_nulls
from bayplan.apiserver.patching.server_side_apply.field_sets import FieldSet, is_in_set
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD
from bayplan.apiserver.patching.server_side_apply.shapes import IGNORED, Shape


def merged(live: dict[str, Any], applied: dict[str, Any], shape: Shape) -> dict[str, Any]:
    result = dict(live)
    for name, value in applied.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged_value(live.get(name), value, shape.member(name) or IGNORED)
    return result


def _merged_value(live: Any, applied: Any, shape: Shape) -> Any:
    if live is applied or live == applied:
        return live
    if isinstance(live, dict) and isinstance(applied, dict) and shape.splits_by_name:
        return merged(live, applied, shape)
    if isinstance(live, list) and isinstance(applied, list) and shape.splits_by_item:
        return _merged_items(live, applied, shape)
    return without_nulls(applied)


def _merged_items(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """The applied items in their order, and between them the live ones that they do not mention.

    Going through the live items, those not mentioned are taken, and each applied item is waited for in turn: when the
    next one comes up it is taken, after those in front of it that are new.
    """
    element_of = shape.element_of
    mine = {element_of(item): item for item in applied}
    theirs = [(element_of(item), item) for item in live]
    counts = Counter(element for element, _ in theirs)
    unique = {element: item for element, item in theirs if counts[element] == 1}
    taken = [_merged_value(unique.get(element), item, shape.item) for element, item in mine.items()]
    shared_places = deque((place, element) for place, element in enumerate(mine) if element in counts)
    result: list[Any] = []
    done = 0
    for element, item in theirs:
        if element not in mine:
            result.append(item)
        elif shared_places and shared_places[0][1] == element:
            place, _ = shared_places.popleft()
            result += taken[done : place + 1]
            done = place + 1
    return result + taken[done:]


def without_fields(document: dict[str, Any], fields: FieldSet, shape: Shape) -> dict[str, Any]:
    return _without_members(document, fields, shape) if fields else document


def _without_members(value: dict[str, Any], fields: FieldSet, shape: Shape) -> dict[str, Any]:
    result = {}
    for name, member in value.items():
        node = fields.get(FIELD + name)
        inner = shape.member(name) or IGNORED
        left = member if node is None else None if is_in_set(node) else _without(member, node, inner)
        if left is None and inner.absent == {}:
            left = {}
        if left is not None:
            result[name] = left
    return result


def _without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """What is left of a value from which something below it is removed; None if nothing is."""
    if isinstance(value, dict) and shape.splits_by_name:
        return _without_members(value, fields, shape) or None
    if isinstance(value, list) and shape.splits_by_item:
        return _without_items(value, fields, shape) or None
    return None if isinstance(value, dict | list) else value


def _without_items(items: list[Any], fields: FieldSet, shape: Shape) -> list[Any]:
    element_of, inner = shape.element_of, shape.item
    result = []
    for item in items:
        node = fields.get(element_of(item))
        if node is None:
            result.append(item)
        elif not is_in_set(node):
            result.append(_without(item, node, inner))
    return result
