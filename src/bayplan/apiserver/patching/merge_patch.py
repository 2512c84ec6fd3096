"""JSON merge patch (RFC 7386) on documents.

Takes a document and the decoded body of the patch; gives the merged document. As in the server, nulls inside objects
are dropped wherever something new is added, also inside lists, which the RFC would keep.
"""

from typing import Any

from bayplan.apiserver.patching.go_values import json_kind
from bayplan.store.errors import BadRequest


def apply_merge_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    if patch is None:
        raise BadRequest("Invalid JSON Patch")
    if not isinstance(patch, dict):
        target = "Go value of type map[string]interface {}"
        raise BadRequest(f"error decoding patch: json: cannot unmarshal {json_kind(patch)} into {target}")
    return _merged(document, patch)


def _merged(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(current)
    for key, value in patch.items():
        before = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(before, dict):
            merged[key] = _merged(before, value) if isinstance(value, dict) else value
        else:
            merged[key] = without_nulls(value)
    return merged


def without_nulls(value: Any) -> Any:
    """The value without members that are null, at any depth; nulls that are items of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
