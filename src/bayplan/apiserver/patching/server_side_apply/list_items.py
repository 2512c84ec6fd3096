"""How items of lists are told from each other: the path element of an item.

Takes the keys of a list that is a map, or none for a list that is a set, and their defaults; gives a function from
items to elements, which raises `Untypable` for items that cannot have one, in the server's words.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from bayplan.apiserver.patching.server_side_apply.path_elements import key_element, value_element


class Untypable(ValueError):  # noqa: N818 - says what the value is
    """A value that does not fit its type."""


def element_maker(keys: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[[Any], str]:
    if not keys:
        return _element_of_set_item
    pairs = tuple(zip(keys, defaults, strict=True))
    has_defaults = any(default is not msgspec.UNSET for default in defaults)

    def element_of(item: Any) -> str:
        if not isinstance(item, dict):
            kind = "a null element" if item is None else "non-map elements"
            raise Untypable(f"associative list with keys may not have {kind}")
        values = [item.get(key, default) for key, default in pairs]
        if not has_defaults and all(value is msgspec.UNSET for value in values):
            names = "[" + " ".join(f'"{key}"' for key in keys) + "]"
            fault = f"has an element that omits all key fields {names}"
            raise Untypable(f"associative list with keys {fault} (and doesn't have default values for any key fields)")
        try:
            return key_element(keys, *values)
        except TypeError:  # the value of a key is an object or a list
            raise Untypable("associative list with keys has an element with key fields that are no scalars") from None

    return element_of


def _element_of_set_item(item: Any) -> str:
    match item:
        case dict():
            raise Untypable("associative list without keys has an element that's a map type")
        case list():
            raise Untypable("not supported: associative list with lists as elements")
        case None:
            raise Untypable("associative list without keys has an element that's an explicit null")
        case _:
            return value_element(item)
