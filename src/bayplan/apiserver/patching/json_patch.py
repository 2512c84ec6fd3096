"""JSON patch (RFC 6902) on documents, with the API server's refusals and its liberties.

Takes a document and the decoded body of the patch; gives the patched document. The server's library differs from the
RFC, so it does here: an index may count from the end, `replace` of a missing member adds it, `copy` of a missing member
adds null, and whatever stands before the first slash of a path is ignored. That, and refusals that must be the server's
word for word, is why this is not a library. Does not look at the result: whether it is a valid object is for others.
"""

import re
from collections.abc import Callable
from typing import Any

from bayplan.apiserver.patching.go_values import json_kind
from bayplan.apiserver.storage.entries import encode_json
from bayplan.store.errors import BadRequest, RequestEntityTooLarge, Unprocessable

MAX_OPERATIONS = 10_000
#: Bytes that the operations of one patch may copy: a document that is copied into itself grows fast.
COPIED_MAX = 3 * 1024 * 1024
_MEMBERS = frozenset({"op", "path", "from", "value"})
_INDEX = re.compile(r"[+-]?[0-9]+")

_Change = Callable[[Any, str], Any]


def apply_json_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The document after all operations of the patch, in order."""
    result: Any = document
    copied = 0
    for operation in _checked(patch):
        kind = operation.get("op")
        if kind not in _OPERATIONS:
            raise Unprocessable
        if kind == "copy":
            copied += len(encode_json(_value_at(result, _path(operation, "from"))))
            if copied > COPIED_MAX:
                raise Unprocessable
        result = _OPERATIONS[kind](result, operation)
    if not isinstance(result, dict):
        raise Unprocessable
    return result


def _checked(patch: Any) -> list[dict[str, Any]]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    for operation in patch:
        if operation is None:
            raise Unprocessable
        if not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name, ""), str):
                raise _undecodable(operation[name], f"Go struct field jsonPatchOp.{name} of type string")
    if len(patch) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            "Request entity too large: "
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        )
    return patch


def unknown_members(patch: Any) -> tuple[str, ...]:
    """What operations have that no operation knows, as strict decoding words it."""
    operations = patch if isinstance(patch, list) else ()
    return tuple(
        f'json patch unknown field "[{place}].{name}"'
        for place, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _MEMBERS
    )


def _undecodable(value: Any, target: str) -> BadRequest:
    return BadRequest(f"error decoding patch: json: cannot unmarshal {json_kind(value)} into {target}")


# -- operations


def _add(document: Any, operation: dict[str, Any]) -> Any:
    return _added(document, _path(operation), operation.get("value"))


def _added(document: Any, tokens: list[str], value: Any) -> Any:
    def add(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return {**container, token: value}
        index = len(container) if token == "-" else _index(token, len(container) + 1)
        return [*container[:index], value, *container[index:]]

    return _changed(document, tokens, add)


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    return _removed(document, _path(operation))


def _removed(document: Any, tokens: list[str]) -> Any:
    def remove(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            if token not in container:
                raise Unprocessable
            return {key: value for key, value in container.items() if key != token}
        index = _index(token, len(container))
        return [*container[:index], *container[index + 1 :]]

    return _changed(document, tokens, remove)


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    value = operation.get("value")
    if operation.get("path") == "":
        return value

    def replace(container: Any, token: str) -> Any:
        copy = container.copy()
        copy[token if isinstance(container, dict) else _index(token, len(container))] = value
        return copy

    return _changed(document, _path(operation), replace)


def _move(document: Any, operation: dict[str, Any]) -> Any:
    source = _path(operation, "from")
    value = _value_at(document, source)
    return _added(_removed(document, source), _path(operation), value)


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    return _added(document, _path(operation), _value_at(document, _path(operation, "from")))


def _test(document: Any, operation: dict[str, Any]) -> Any:
    found = document if operation.get("path") == "" else _value_at(document, _path(operation))
    if not _is_same(found, operation.get("value")):
        raise Unprocessable
    return document


_OPERATIONS: dict[Any, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _is_same(first: Any, second: Any) -> bool:
    """Equal as JSON, where true is not 1."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


# -- paths


def _path(operation: dict[str, Any], name: str = "path") -> list[str]:
    tokens = str(operation.get(name, "")).split("/")[1:]
    if not tokens:
        raise Unprocessable
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def _changed(container: Any, tokens: list[str], change: _Change) -> Any:
    """A copy of the container in which the one that holds the last token is changed."""
    if not isinstance(container, dict | list):
        raise Unprocessable
    if len(tokens) == 1:
        return change(container, tokens[0])
    copy: Any = container.copy()
    key = tokens[0] if isinstance(container, dict) else _index(tokens[0], len(container))
    copy[key] = _changed(_member(container, tokens[0]), tokens[1:], change)
    return copy


def _value_at(document: Any, tokens: list[str]) -> Any:
    container = document
    for token in tokens[:-1]:
        container = _member(container, token)
    return _member(container, tokens[-1])


def _member(container: Any, token: str) -> Any:
    """A member, or null where an object has none of that name."""
    if isinstance(container, dict):
        return container.get(token)
    if isinstance(container, list):
        return container[_index(token, len(container))]
    raise Unprocessable


def _index(token: str, length: int) -> int:
    if not _INDEX.fullmatch(token) or len(token) > 9:
        raise Unprocessable
    index = int(token)
    if not -length <= index < length:
        raise Unprocessable
    return index % length
