"""A change seen through a narrow view of an object, carried over to the whole object.

Takes the whole document, the narrow one before and after the change, and the object's `Message`; gives the whole
document with that change, and with everything that the narrow view does not show left as it was. Items of lists are
matched by their keys, or by position where the type has none. Returns the very same document if nothing changed.
"""

from typing import Any

import msgspec

from bayplan.apiserver.schema.messages import Field, Message, message

_Object = dict[str, Any]


def overlay(full: _Object, before: _Object, after: _Object, kind: Message | None) -> _Object:
    if before is after or before == after:
        return full
    result = dict(full)
    for key in [*after, *(key for key in before if key not in after)]:
        old, new = before.get(key), after.get(key)
        if old is new or old == new:
            continue
        field = kind.fields.get(key) if kind else None
        changed = _changed_value(full.get(key), old, new, field)
        if changed is None and field is not None and field.always_present:
            changed = field.absent_value  # narrow views leave zeros out
        if changed is None:
            result.pop(key, None)
        else:
            result[key] = changed
    return result


def _changed_value(full: Any, old: Any, new: Any, field: Field | None) -> Any:
    """What becomes of a member; None if nothing is left of it."""
    of_items = message(field.type) if field is not None and field.is_message else None
    if isinstance(full, dict) and isinstance(old, dict | None) and isinstance(new, dict | None):
        changed = overlay(full, old or {}, new or {}, of_items if field is None or not field.container else None)
        return changed if changed or new is not None else None
    if isinstance(full, list) and isinstance(old, list) and isinstance(new, list) and of_items and field:
        return _changed_list(full, old, new, field, of_items)
    return new


def _changed_list(full: list[Any], old: list[Any], new: list[Any], field: Field, of_items: Message) -> list[Any]:
    if len(full) != len(old):  # the views do not show the same list
        return new
    if field.list_map_keys or field.patch_merge_key:
        matches = _matches_by_key(old, new, field, of_items)
    else:
        matches = _matches_by_position(old, new)
    return [
        item if match is None else overlay(full[match], old[match], item, of_items)
        for item, match in zip(new, matches, strict=True)
    ]


def _matches_by_key(old: list[Any], new: list[Any], field: Field, of_items: Message) -> list[int | None]:
    """For each new item the position of the old one with the same key; items of equal keys match in order."""
    keys = field.list_map_keys or (field.patch_merge_key,)
    defaults = {key: of_items.fields[key].default for key in keys}
    positions: dict[tuple[Any, ...], list[int]] = {}
    for position, item in enumerate(old):
        positions.setdefault(_key_of(item, defaults), []).append(position)
    found = [positions.get(_key_of(item, defaults)) for item in new]
    return [candidates.pop(0) if candidates else None for candidates in found]


def _key_of(item: _Object, defaults: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item.get(key, None if default is msgspec.UNSET else default) for key, default in defaults.items())


def _matches_by_position(old: list[Any], new: list[Any]) -> list[int | None]:
    """Equal items match wherever they are; the rest match at the same position."""
    free = set(range(len(old)))
    matches: list[int | None] = [None] * len(new)
    for index, item in enumerate(new):
        candidates = [index, *sorted(free)] if index in free else sorted(free)
        match = next((position for position in candidates if old[position] == item), None)
        if match is not None:
            matches[index] = match
            free.discard(match)
    for index, match in enumerate(matches):
        if match is None and index in free:
            matches[index] = index
            free.discard(index)
    return matches
