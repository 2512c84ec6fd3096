"""Documents: objects of the API as plain JSON values, with every field a client sent.

Only the names of their types, and how to reach into them where a part may be missing. Nothing here knows a kind.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""A JSON object."""

Path: TypeAlias = str
"""Where a field is, in an API server's notation: `spec.containers[0].name`."""


class Sparse(Document):
    """A part of a document that was given lists or maps without anything in them.

    They are not there, as they are not once the part is stored; only until then does a server tell them from none.
    """

    __slots__ = ("emptied",)

    def __init__(self, document: Document, emptied: frozenset[str]) -> None:
        super().__init__(document)
        self.emptied = emptied


def is_emptied(document: Document, name: str) -> bool:
    """Whether a list or map was given that has nothing in it."""
    return isinstance(document, Sparse) and name in document.emptied


def part(document: Document, *names: str) -> Document:
    """The object at the end of the names; an empty one, which belongs to nobody, where any of them is missing."""
    for name in names:
        document = document.get(name) or {}
    return document


def name_of(document: Document) -> str:
    """The name in the metadata, or nothing."""
    name: str = part(document, "metadata").get("name") or ""
    return name
