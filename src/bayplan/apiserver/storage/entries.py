"""One stored object: its document, its version, and its JSON.

An entry never changes: a write makes a new one. Its JSON is made when somebody asks for it, and only once, however
many watch or list it. Versions of a kind other than the stored one are converted by whoever serves them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Document: TypeAlias = dict[str, Any]
"""An API object as JSON has it. A stored one is never modified."""

encode_json = msgspec.json.Encoder().encode
_TYPE_FIELDS = ("kind", "apiVersion")


class Entry:
    """A document at one version."""

    __slots__ = ("_body", "document", "key", "name", "namespace", "version")

    def __init__(self, namespace: str, name: str, document: Document, version: int) -> None:
        self.namespace = namespace
        self.name = name
        self.key = object_key(namespace, name)
        self.document = document
        self.version = version
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        """The JSON of all but `kind` and `apiVersion`, as the items of a list have it."""
        if self._body is None:
            self._body = body_of(self.document)
        return self._body

    @property
    def uid(self) -> str:
        uid: str = self.document["metadata"]["uid"]
        return uid


def object_key(namespace: str, name: str) -> str:
    """Where an object of its kind is found; sorting by it gives the order in which a real server lists."""
    return f"{namespace}/{name}"


def body_of(document: Document) -> bytes:
    """The JSON of a document without its type."""
    return encode_json({field: value for field, value in document.items() if field not in _TYPE_FIELDS})


def with_type(body: bytes, kind: str, api_version: str) -> bytes:
    """The JSON of a whole object, from that of its body."""
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}"'.encode()
    return head + (b"}" if body == b"{}" else b"," + body[1:])
