"""The outcome of a JSON patch or a merge patch as text: what nobody looked into stays as it was written.

Takes the texts of a document and of a patch that is known to apply; gives the text of the outcome, as refusals quote it
and as decoders then read it. The server's library opens an object or a list only where the patch leads through it;
what was opened is written with its members sorted, all else word for word. Slow, and only for refusals.
"""

# Upstream: gopkg.in/evanphx/json-patch.v4, lazyNode in patch.go and merge.go.

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

_ESCAPES: Final = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
_STRING_OR_BLANKS: Final = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder(strict=False)

#: Text that was not looked into, an open object, an open list, or null.
_Node = str | dict[str, Any] | list[Any] | None


def merge_patched_text(document: str, patch: str) -> str:
    """What a merge patch makes of the document."""
    return _written(_merged(_opened(document), _opened(patch)))


def json_patched_text(document: str, patch: str) -> str:
    """What a JSON patch makes of the document."""
    root = _opened(document)
    operations = _opened(patch)
    for operation in operations if isinstance(operations, list) else ():
        members = _opened(operation)
        words = {name: json.loads(members[name]) for name in ("op", "path", "from") if members.get(name)}
        root = _OPERATIONS[words["op"]](root, words, members.get("value"))
    return _written(root)


def escaped_for_html(text: str) -> str:
    """JSON text as Go writes it, safe inside of HTML."""
    return text.translate(_ESCAPES)


# -- nodes


def _opened(node: _Node) -> Any:
    """The object or list one level deep; anything else as it is."""
    if not isinstance(node, str):
        return node
    start = _skipped(node, 0)
    if node[start] == "{":
        return _opened_object(node, start + 1)
    return _opened_list(node, start + 1) if node[start] == "[" else node


def _opened_object(text: str, place: int) -> dict[str, _Node]:
    members: dict[str, _Node] = {}
    place = _skipped(text, place)
    while text[place] != "}":
        name, place = _DECODER.raw_decode(text, place)
        place = _skipped(text, place) + 1
        members[name], place = _taken(text, place)
    return members


def _opened_list(text: str, place: int) -> list[_Node]:
    items = []
    place = _skipped(text, place)
    while text[place] != "]":
        item, place = _taken(text, place)
        items.append(item)
    return items


def _taken(text: str, place: int) -> tuple[_Node, int]:
    """The value that begins here, unopened, and where the next one does."""
    start = _skipped(text, place)
    value, end = _DECODER.raw_decode(text, start)
    place = _skipped(text, end)
    if text[place] == ",":
        place = _skipped(text, place + 1)
    return (None if value is None else text[start:end]), place


def _skipped(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    assert found is not None
    return found.end()


def _written(node: _Node) -> str:
    if node is None:
        return "null"
    if isinstance(node, str):
        return escaped_for_html(_STRING_OR_BLANKS.sub(lambda found: found[1] or "", node))
    if isinstance(node, list):
        return "[" + ",".join(map(_written, node)) + "]"
    members = (f"{_quoted(name)}:{_written(node[name])}" for name in sorted(node))
    return "{" + ",".join(members) + "}"


def _quoted(text: str) -> str:
    return escaped_for_html(json.dumps(text, ensure_ascii=False))


# -- merge patches


def _merged(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    for name, value in patch.items():
        if value is None:
            current.pop(name, None)
        elif current.get(name) is None:
            current[name] = _without_nulls(value)
        else:
            current[name] = _merged_member(_opened(current[name]), value)
    return current


def _merged_member(before: Any, value: _Node) -> _Node:
    if not isinstance(before, dict):
        return _without_nulls(value)
    change = _opened(value)
    return _merged(before, change) if isinstance(change, dict) else value


def _without_nulls(node: _Node) -> _Node:
    """The value without members that are null, all of it opened on the way."""
    opened = _opened(node)
    if isinstance(opened, dict):
        return {name: _without_nulls(member) for name, member in opened.items() if member is not None}
    return [_without_nulls(item) for item in opened] if isinstance(opened, list) else opened


# -- JSON patches


def _add(root: Any, words: dict[str, str], value: _Node) -> Any:
    container, token = _container_of(root, words["path"])
    if isinstance(container, dict):
        container[token] = value
    else:
        container.insert(len(container) if token == "-" else _index(token, len(container) + 1), value)
    return root


def _replace(root: Any, words: dict[str, str], value: _Node) -> Any:
    if not words["path"]:
        return _opened(value)
    container, token = _container_of(root, words["path"])
    container[_place(container, token)] = value
    return root


def _remove(root: Any, words: dict[str, str], _: _Node) -> Any:
    container, token = _container_of(root, words["path"])
    del container[_place(container, token)]
    return root


def _move(root: Any, words: dict[str, str], _: _Node) -> Any:
    container, token = _container_of(root, words["from"])
    value = container.pop(_place(container, token))
    return _add(root, words, value)


def _copy(root: Any, words: dict[str, str], _: _Node) -> Any:
    container, token = _container_of(root, words["from"])
    value = _member(container, token)
    return _add(root, words, None if value is None else _written(value))


def _test(root: Any, words: dict[str, str], _: _Node) -> Any:
    """Comparing opens what is compared."""
    if not words["path"]:
        return _opened_wholly(root)
    container, token = _container_of(root, words["path"])
    if _member(container, token) is not None:
        container[_place(container, token)] = _opened_wholly(_member(container, token))
    return root


_OPERATIONS: Final[dict[str, Callable[[Any, dict[str, str], _Node], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _opened_wholly(node: _Node) -> _Node:
    opened = _opened(node)
    if isinstance(opened, dict):
        return {name: _opened_wholly(member) for name, member in opened.items()}
    return [_opened_wholly(item) for item in opened] if isinstance(opened, list) else opened


def _container_of(root: Any, path: str) -> tuple[Any, str]:
    """What holds the last token of the path, and that token; opens everything on the way."""
    *way, last = (token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:])
    container = root
    for token in way:
        place = _place(container, token)
        container[place] = _opened(container[place])
        container = container[place]
    return container, last


def _place(container: Any, token: str) -> Any:
    return token if isinstance(container, dict) else _index(token, len(container))


def _index(token: str, length: int) -> int:
    return int(token) % length


def _member(container: Any, token: str) -> _Node:
    found: _Node = container.get(token) if isinstance(container, dict) else container[_place(container, token)]
    return found
