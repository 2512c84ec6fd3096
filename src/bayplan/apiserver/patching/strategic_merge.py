"""Strategic merge patch: a merge patch that knows, from the type of the object, which lists merge and by which key.

Takes a document, the decoded body of the patch and the object's `Message`; gives the merged document. The directives
are all here: `$patch`, `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…`. Types without a Message
(custom resources) are refused, as in the server. Does not compute patches, and does not look at the result: a value of
the wrong type goes through.
"""

from collections.abc import Iterator
from typing import Any

from bayplan.apiserver.patching.go_values import go_text, json_kind
from bayplan.apiserver.patching.merge_patch import without_nulls
from bayplan.apiserver.patching.strategic_lists import (
    DIRECTIVE,
    has_directive,
    key_of,
    put_in_order,
    unknown_directive,
    without_deleted,
    without_directives,
)
from bayplan.apiserver.schema.messages import Field, Message, message
from bayplan.store.errors import BadRequest, InternalError, Unprocessable, UnsupportedMediaType

RETAIN_KEYS = "$retainKeys"
ELEMENT_ORDER = "$setElementOrder/"
_DELETE_FROM_LIST = "$deleteFromPrimitiveList/"
_PATCHES_OF_CUSTOM_RESOURCES = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"

_Object = dict[str, Any]


def apply_strategic_merge_patch(document: _Object, patch: Any, kind: Message | None) -> _Object:
    if kind is None:
        accepted = f"accepted media types include: {_PATCHES_OF_CUSTOM_RESOURCES}"
        raise UnsupportedMediaType(f"the body of the request was in an unknown format - {accepted}")
    if not isinstance(patch, dict):
        target = "Go value of type map[string]interface {}"
        raise BadRequest(f"json: cannot unmarshal {json_kind(patch)} into {target}")
    return _merged_object(document, patch, kind)


def _merged_object(original: _Object, patch: _Object, kind: Message | None) -> _Object:
    if DIRECTIVE in patch:
        return _replaced_object(patch)
    merged = _retained(original, patch)
    ordered = set(_merge_ordered_lists(merged, patch, kind))
    for key, value in patch.items():
        if key in ordered or key == RETAIN_KEYS or key.startswith(ELEMENT_ORDER):
            continue
        if key.startswith(_DELETE_FROM_LIST):
            _delete_from_list(merged, key.removeprefix(_DELETE_FROM_LIST), value)
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_member(merged, key, value, kind)
    return merged


def _replaced_object(patch: _Object) -> _Object:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: without_nulls(value) for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case _:
            raise unknown_directive(patch)


def _retained(original: _Object, patch: _Object) -> _Object:
    """A copy of the original, without the members that `$retainKeys` leaves out."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    kept = patch[RETAIN_KEYS]
    given = [
        key
        for key, value in patch.items()
        if value is not None and key != RETAIN_KEYS and not key.startswith((ELEMENT_ORDER, _DELETE_FROM_LIST))
    ]
    if not isinstance(kept, list) or any(key not in kept for key in given):
        raise BadRequest("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in kept}


def _merge_member(merged: _Object, key: str, value: Any, kind: Message | None) -> None:
    before = merged.get(key)
    field = kind.fields.get(key) if kind else None
    if isinstance(before, dict) and isinstance(value, dict):
        merged[key] = without_nulls(value) if replaces(field) else _merged_object(before, value, message_in(field))
    elif isinstance(before, list) and isinstance(value, list):
        merged[key] = _merged_list(before, value, field)
    elif not has_directive(value):
        merged[key] = without_directives(without_nulls(value))
    else:
        merged.pop(key, None)


def replaces(field: Field | None) -> bool:
    return field is not None and "replace" in field.patch_strategy


def message_in(field: Field | None) -> Message | None:
    return message(field.type) if field is not None and field.is_message else None


# -- lists


def _merged_list(original: list[Any], patch: list[Any], field: Field | None) -> list[Any]:
    if field is None or "merge" not in field.patch_strategy:
        return [without_nulls(item) for item in patch]
    if not original and not patch:
        return original
    if not _has_objects(original, patch):
        both = list(dict.fromkeys([*original, *patch]))
        return put_in_order(both, patch, original, "")
    merge_key = field.patch_merge_key
    if not merge_key:
        raise InternalError(f"cannot merge lists without merge key for {field.type.rpartition('.')[2]}")
    original, patch = without_deleted(original, patch, merge_key)
    merged = _merged_items(original, patch, merge_key, message_in(field))
    return put_in_order(merged, patch, original, merge_key)


def _merged_items(original: list[_Object], patch: list[_Object], merge_key: str, kind: Message | None) -> list[_Object]:
    merged = list(original)
    places: dict[Any, int] = {}
    for place, item in enumerate(original):
        places.setdefault(key_of(item, merge_key), place)
    for item in patch:
        key = key_of(item, merge_key)
        if key in places:
            merged[places[key]] = _merged_object(merged[places[key]], item, kind)
        else:
            places[key] = len(merged)
            merged.append(without_nulls(item))
    return merged


def _has_objects(*lists: list[Any]) -> bool:
    """Whether the items are objects; all must be of one kind, and not lists."""
    kinds = {json_kind(item) for items in lists for item in items}
    if "array" in kinds:
        raise Unprocessable
    if len(kinds) > 1:
        raise InternalError(f"list element types are not identical: {go_text(list(lists))}")
    return kinds == {"object"}


def _delete_from_list(merged: _Object, key: str, deleted: Any) -> None:
    before = merged.get(key)
    if isinstance(before, list) and isinstance(deleted, list):
        merged[key] = [item for item in before if item not in deleted]


def _merge_ordered_lists(merged: _Object, patch: _Object, kind: Message | None) -> Iterator[str]:
    """Merge the lists for which the patch has an order; yields their names."""
    for directive, order in patch.items():
        if not directive.startswith(ELEMENT_ORDER):
            continue
        key = directive.removeprefix(ELEMENT_ORDER)
        field = kind.fields.get(key) if kind else None
        merge_key = field.patch_merge_key if field else ""
        before, change = merged.get(key), patch.get(key)
        if not all(isinstance(value, list | None) for value in (before, change)) or not isinstance(order, list):
            raise BadRequest("invalid patch format of setElementOrder list")
        _check_order(change or [], order, merge_key)
        if before is not None and change is not None:
            items = _merged_list(before, change, field)
        else:
            items = before if before is not None else without_directives(change)
        if items is not None:
            merged[key] = put_in_order(items, order, before or [], merge_key)
            yield key


def _check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Items of the patch must be in the order, and in that order; items to delete need not."""
    if not order:
        return
    positions = iter(order)
    for item in patch:
        if has_directive(item):
            continue
        wanted = key_of(item, merge_key)
        if not any(key_of(candidate, merge_key) == wanted for candidate in positions):
            lists = f"patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
            raise InternalError(f"The order in {lists}")
