"""One stored object: its document, its version, and its JSON.

An entry never changes: a write makes a new one. Its JSON is made when it is first needed, and only once, however many
clients watch or list it. An entry that is seldom read can be packed: it keeps its JSON alone, a fraction of the memory
and nothing for the garbage collector to visit, and its document is decoded each time it is asked for. Versions of a
kind other than the stored one are converted when they are served.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Document: TypeAlias = dict[str, Any]
"""An API object as JSON has it. A stored one is never modified."""

encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.Decoder(dict).decode
_TYPE_FIELDS = ("kind", "apiVersion")


class Entry:
    """A document at one version."""

    __slots__ = ("_body", "_document", "api_version", "key", "kind", "name", "namespace", "version")

    def __init__(self, namespace: str, name: str, document: Document, version: int) -> None:
        self.namespace = namespace
        self.name = name
        self.key = object_key(namespace, name)
        self.kind: str = document.get("kind", "")
        self.api_version: str = document.get("apiVersion", "")
        self.version = version
        self._document: Document | None = document
        self._body: bytes | None = None

    @property
    def document(self) -> Document:
        document = self._document
        return decode_json(self.json) if document is None else document

    @property
    def body(self) -> bytes:
        """The JSON of all but `kind` and `apiVersion`, as the items of a list have it."""
        if self._body is None:
            assert self._document is not None
            self._body = body_of(self._document)
        return self._body

    def encode(self) -> None:
        """Makes the JSON now, if it is not there yet."""
        if self._body is None:
            self._body = self.body

    @property
    def json(self) -> bytes:
        """The JSON of the whole document."""
        return with_type(self.body, self.kind, self.api_version)

    def pack(self) -> None:
        """Keeps the JSON alone."""
        self.encode()
        self._document = None

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
