"""Sets of fields, in the form of `fieldsV1`: nested dicts of path elements, and what can be done with two of them.

A node `{}` is a field that is in the set; a node with `.` is in the set together with fields below it; any other node
only leads to fields below it. The set as a whole has no `.`, and `{}` is the empty set. Sets are never modified:
results share what they can with their inputs, and are the input itself where nothing changes. Elements are in the
server's order.
"""

from collections.abc import Iterator
from typing import Any

from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD, SELF, canonical, order_of

FieldSet = dict[str, Any]
"""Also a node of one."""
Path = tuple[str, ...]
LEAF: FieldSet = {}


def is_in_set(node: FieldSet) -> bool:
    return not node or SELF in node


def in_order(node: FieldSet) -> FieldSet:
    if len(node) < 2:
        return node
    elements = sorted(node)
    if not elements[-1].startswith(FIELD):  # only names sort as texts; other elements come after them
        elements.sort(key=order_of)
    return {element: node[element] for element in elements}


def with_self(node: FieldSet | None) -> FieldSet:
    """The node, made a member of the set itself."""
    return node if node is not None and SELF in node else {SELF: LEAF, **node} if node else LEAF


def set_of_paths(*paths: Path) -> FieldSet:
    result: FieldSet = {}
    for path in paths:
        node = LEAF
        for element in reversed(path):
            node = {element: node}
        result = union(result, node)
    return result


def paths_of(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """All members: those of one level before what is below them."""
    children = [(element, node) for element, node in fields.items() if element != SELF]
    for element, node in children:
        if is_in_set(node):
            yield (*prefix, element)
    for element, node in children:
        yield from paths_of(node, (*prefix, element))


def union(first: FieldSet, second: FieldSet) -> FieldSet:
    if not second or first is second:
        return first
    return _union(first, second) if first else second


def _union(first: FieldSet, second: FieldSet) -> FieldSet:
    """Of two nodes with something in them."""
    result, has_new_elements = first, False
    for element, theirs in second.items():
        mine = first.get(element)
        both = theirs if mine is None else _union_of_members(mine, theirs)
        if both is not mine:
            if result is first:
                result = dict(first)
            result[element] = both
            has_new_elements |= mine is None
    return in_order(result) if has_new_elements else result


def _union_of_members(mine: FieldSet, theirs: FieldSet) -> FieldSet:
    if mine is theirs or (not mine and not theirs):
        return mine
    if not mine:
        return with_self(theirs)
    return _union(mine, theirs) if theirs else with_self(mine)


def intersection(first: FieldSet, second: FieldSet) -> FieldSet:
    result = {}
    for element, node in first.items():
        other = second.get(element)
        if other is None or element == SELF:
            continue
        below = intersection(node, other)
        if is_in_set(node) and is_in_set(other):
            result[element] = with_self(below)
        elif below:
            result[element] = below
    return result


def difference(first: FieldSet, second: FieldSet) -> FieldSet:
    """What is in the first set and not in the second; fields below those that are in the second stay."""
    if not second:
        return first
    result = first
    for element in second:
        node = first.get(element)
        if node is None or element == SELF:
            continue
        left = _node_difference(node, second[element])
        if left is not node:
            if result is first:
                result = dict(first)
            if left is None:
                del result[element]
            else:
                result[element] = left
    return result


def _node_difference(node: FieldSet, other: FieldSet) -> FieldSet | None:
    left = difference(node, other)
    if is_in_set(other):
        return _without_self(left) or None
    return _normal(left) if left or is_in_set(node) else None


def _without_self(node: FieldSet) -> FieldSet:
    return {element: below for element, below in node.items() if element != SELF} if SELF in node else node


def _normal(node: FieldSet) -> FieldSet:
    """A member with nothing below it is written without `.`."""
    return LEAF if len(node) == 1 and SELF in node else node


def recursive_difference(first: FieldSet, second: FieldSet) -> FieldSet:
    """As `difference`, but what is below fields of the second set goes, too."""
    result = first
    for element, other in second.items():
        node = first.get(element)
        if node is None or element == SELF:
            continue
        left = None if is_in_set(other) else recursive_difference(node, other)
        if left is not node:
            if result is first:
                result = dict(first)
            if left:
                result[element] = _normal(left)
            else:
                del result[element]
    return result


def decoded(fields: Any) -> FieldSet:
    """A set from `fieldsV1` of unknown origin, in canonical form; ValueError if it is broken."""
    return _without_self(_decoded_node(fields))


def _decoded_node(fields: Any) -> FieldSet:
    if not isinstance(fields, dict | None):
        raise ValueError("fieldsV1 is not an object")
    node = {}
    for element, below in (fields or {}).items():
        known = SELF if element == SELF else canonical(element)
        if known is not None:
            node[known] = LEAF if element == SELF else _decoded_node(below)
    return _normal(in_order(node))
