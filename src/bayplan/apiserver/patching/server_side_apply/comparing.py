"""What a change touched: the fields that were added or modified, and those that were removed.

Takes two documents and their shape. Subtrees that the documents share, and equal ones, cost next to nothing. Null
counts as absent. A value that the server always has (`Shape.absent`) is never added or removed as such, only what is in
it. Raises `Untypable` if an item of a list cannot be told from others.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from bayplan.apiserver.patching.server_side_apply.field_sets import LEAF, FieldSet, in_order, with_self
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD, SELF
from bayplan.apiserver.patching.server_side_apply.shapes import Shape


class FieldComparison(NamedTuple):
    changed: FieldSet
    """Added or modified."""
    removed: FieldSet


def compare(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> FieldComparison:
    return FieldComparison({}, {}) if old is new else _compare_members(old, new, shape)


def everything_in(value: Any, shape: Shape) -> FieldSet:
    """The node of a value that was added or removed as a whole, with all that is in it."""
    if not value:
        return LEAF
    if isinstance(value, dict) and shape.splits_by_name:
        return with_self(_members_of_new(value, shape))
    if isinstance(value, list) and shape.splits_by_item:
        inner = shape.item
        below = {
            element: everything_in(same[0], inner) if len(same) == 1 else LEAF
            for element, same in _by_element(value, shape.element_of).items()
        }
        return with_self(in_order(below))
    return LEAF


def _members_of_new(value: dict[str, Any], shape: Shape) -> FieldSet:
    below = {}
    for name in sorted(value):  # the order of names is that of their elements
        member = value[name]
        inner = shape.owned_member(name)
        if member is not None and inner is not None:
            below[FIELD + name] = everything_in(member, inner) if member and inner.splits else LEAF
    missing = [FIELD + name for name in shape.always_present if value.get(name) is None]
    return in_order({**below, **dict.fromkeys(missing, LEAF)}) if missing else below


def _by_element(items: Sequence[Any], element_of: Callable[[Any], str]) -> dict[str, list[Any]]:
    """Items by their path element; several items of one element are against the rules, but may have been stored."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(element_of(item), []).append(item)
    return found


def _compare_members(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> FieldComparison:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for name, value in new.items():
        before = old.get(name)
        if before is value or value is None or before == value:
            continue
        inner = shape.owned_member(name)
        if inner is not None:
            _note(FIELD + name, before, value, inner, changed, removed)
    for name, before in old.items():
        if before is not None and new.get(name) is None:
            inner = shape.owned_member(name)
            if inner is not None:
                _note(FIELD + name, before, None, inner, changed, removed)
    return FieldComparison(in_order(changed), in_order(removed))


def _note(element: str, old: Any, new: Any, shape: Shape, changed: FieldSet, removed: FieldSet) -> None:
    """Add to both sets what is different about one member; at most one of the values is None, for absent."""
    before = shape.absent if old is None else old
    after = shape.absent if new is None else new
    if before is msgspec.UNSET:
        changed[element] = everything_in(after, shape)
    elif after is msgspec.UNSET:
        removed[element] = everything_in(before, shape)
    elif before is None:
        changed[element] = _below_null(everything_in(after, shape))
    elif after is None and (gone := everything_in(before, shape)):
        removed[element] = _below_null(gone)
    elif before != after:
        inner = _compare_values(before, after, shape)
        if inner is None:
            changed[element] = LEAF
            return
        if inner.changed:
            changed[element] = inner.changed
        if inner.removed:
            removed[element] = inner.removed


def _below_null(node: FieldSet) -> FieldSet:
    """The node of a value that replaces a null: what is in it, but not the field itself, which was there before."""
    return {element: below for element, below in node.items() if element != SELF}


def _compare_values(old: Any, new: Any, shape: Shape) -> FieldComparison | None:
    """Of two different values; None if they differ as a whole."""
    if isinstance(old, dict) and isinstance(new, dict) and shape.splits_by_name:
        return _compare_members(old, new, shape)
    if isinstance(old, list) and isinstance(new, list) and shape.splits_by_item:
        return _compare_items(old, new, shape)
    return None


def _compare_items(old: Sequence[Any], new: Sequence[Any], shape: Shape) -> FieldComparison:
    element_of, inner = shape.element_of, shape.item
    old_items, new_items = _by_element(old, element_of), _by_element(new, element_of)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for element, after in new_items.items():
        before = old_items.get(element)
        if before is None:
            changed[element] = everything_in(after[0], inner) if len(after) == 1 else LEAF
        elif len(before) == len(after) == 1:
            if before[0] is not after[0]:
                _note(element, before[0], after[0], inner, changed, removed)
        elif before != after:
            _note_duplicates(element, before, after, inner, changed, removed)
    for element, before in old_items.items():
        if element not in new_items:
            removed[element] = everything_in(before[0], inner) if len(before) == 1 else LEAF
    return FieldComparison(in_order(changed), in_order(removed))


def _note_duplicates(
    element: str, old: list[Any], new: list[Any], shape: Shape, changed: FieldSet, removed: FieldSet
) -> None:
    """Items of the same element are owned together, as a whole."""
    changed[element] = everything_in(new[0], shape) if len(new) == 1 else LEAF
    if len(new) == 1:
        removed[element] = LEAF
    elif len(old) == 1:
        removed[element] = everything_in(old[0], shape)
