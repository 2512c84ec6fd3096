"""Path elements of `fieldsV1`, as texts: `f:name`, `k:{"name":"c"}`, `v:"value"`, `i:0`, and `.` for the field itself.

Makes them from names and values, puts them in the server's order, and writes them as messages do (`[name="c"]`).
Elements are always in canonical form here, so that equal elements are equal texts; `canonical` gets foreign ones there.
"""

import json
from functools import lru_cache
from typing import Any

import msgspec

from bayplan.apiserver.patching.go_values import go_json, go_text

SELF = "."
FIELD, KEY, VALUE, INDEX = "f:", "k:", "v:", "i:"
_CACHE = 8_192


@lru_cache(_CACHE, typed=True)
def value_element(value: Any) -> str:
    """The element of an item in a list that is a set."""
    return VALUE + go_json(value)


@lru_cache(_CACHE, typed=True)
def key_element(names: tuple[str, ...], *values: Any) -> str:
    """The element of an item in a list that is a map; values that are UNSET are left out."""
    given = {name: value for name, value in zip(names, values, strict=True) if value is not msgspec.UNSET}
    return KEY + go_json(given)


@lru_cache(_CACHE)
def order_of(element: str) -> tuple[Any, ...]:
    """Sorts elements as the server does: numbers in keys as numbers."""
    kind, text = element[:2], element[2:]
    if kind == FIELD:
        return (1, text)
    if kind == KEY:
        return (2, [(name, _order_of_value(value)) for name, value in json.loads(text).items()])
    if kind == VALUE:
        return (3, _order_of_value(json.loads(text)))
    return (0,) if element == SELF else (4, int(text))


def _order_of_value(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, go_json(value))


@lru_cache(_CACHE)
def readable(element: str) -> str:
    """As conflicts name it: `.name`, `[name="c"]`, `[="value"]`, `[0]`."""
    kind, text = element[:2], element[2:]
    if kind == FIELD:
        return "." + text
    if kind == KEY:
        return "[" + ",".join(f"{name}={_quoted(value)}" for name, value in json.loads(text).items()) + "]"
    return f"[={_quoted(json.loads(text))}]" if kind == VALUE else f"[{text}]"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else go_text(value)


def canonical(element: str) -> str | None:
    """The element as it is written here; None if its kind is unknown, ValueError if it is broken."""
    if len(element) < 2 or element[1] != ":":
        raise ValueError(f"missing colon: {element}")
    kind, text = element[:2], element[2:]
    if kind == FIELD:
        return element
    if kind == INDEX:
        return INDEX + str(int(text))
    if kind not in (KEY, VALUE):
        return None
    value = json.loads(text)
    if kind == VALUE:
        return VALUE + go_json(value)
    if not isinstance(value, dict):
        raise ValueError(f"not an object: {element}")
    return KEY + go_json(value)
