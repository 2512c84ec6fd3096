"""A change to an object, said with structs, carried over to the whole object as the server gave it.

Structs know only some of an object's fields, and a PUT must not lose the rest. Why not patches: see
docs/decisions/0021-get-before-put.md.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]


def overlay(document: Document, before: Document, after: Document) -> Document:
    """The document with what differs between the two; lists are replaced as a whole."""
    made = dict(document)
    for name in {**before, **after}:
        old, new, held = before.get(name), after.get(name), document.get(name)
        if old == new:
            continue
        if new is None:
            made.pop(name, None)
        elif isinstance(old, dict) and isinstance(new, dict) and isinstance(held, dict):
            made[name] = overlay(held, old, new)
        else:
            made[name] = new
    return made
