"""A strategic merge patch as it is after it was applied, which is how a refusal of its outcome quotes it.

Applying takes directives and nulls out of the patch: those of the objects that are merged, and all of what is new.
Takes a patch that is known to apply; gives what is left of it.
"""

# Upstream: apimachinery/pkg/util/strategicpatch/patch.go, mergeMap "may modify both the original map and the patch".

from __future__ import annotations

from typing import Any

from bayplan.apiserver.patching.merge_patch import without_nulls
from bayplan.apiserver.patching.strategic_lists import DIRECTIVE, has_directive, key_of, without_directives
from bayplan.apiserver.patching.strategic_merge import ELEMENT_ORDER, RETAIN_KEYS, message_in, replaces
from bayplan.apiserver.schema.messages import Field, Message

_Object = dict[str, Any]


def spent_patch(document: _Object, patch: _Object, kind: Message | None) -> _Object:
    """What applying the patch to the document leaves of it."""
    if DIRECTIVE in patch:
        is_replaced = patch[DIRECTIVE] == "replace"
        return {name: value for name, value in patch.items() if name != DIRECTIVE or not is_replaced}
    ordered = {name.removeprefix(ELEMENT_ORDER) for name in patch if name.startswith(ELEMENT_ORDER)}
    return {
        name: _spent_member(document.get(name), value, kind.fields.get(name) if kind else None)
        for name, value in patch.items()
        if name != RETAIN_KEYS and not name.startswith(ELEMENT_ORDER) and name not in ordered
    }


def _spent_member(before: Any, value: Any, field: Field | None) -> Any:
    if isinstance(before, dict) and isinstance(value, dict):
        return value if replaces(field) else spent_patch(before, value, message_in(field))
    if isinstance(before, list) and isinstance(value, list):
        return _spent_list(before, value, field)
    new = without_nulls(value)
    if isinstance(new, list):
        return [item if has_directive(item) else without_directives(item) for item in new]
    return new if has_directive(new) else without_directives(new)


def _spent_list(before: list[Any], patch: list[Any], field: Field | None) -> list[Any]:
    if field is None or "merge" not in field.patch_strategy or not field.patch_merge_key:
        return patch
    merge_key, kind = field.patch_merge_key, message_in(field)
    items = {key_of(item, merge_key): item for item in reversed(before)}
    return [
        item
        if has_directive(item) or key_of(item, merge_key) not in items
        else spent_patch(items[key_of(item, merge_key)], item, kind)
        for item in patch
    ]
