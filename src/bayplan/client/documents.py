"""Whole objects read and written back: structs know only some of an object's fields, and a PUT must not lose the rest.

Takes paths and documents; gives documents as the server has them now. Retries nothing by itself. Why not patches:
see docs/decisions/0021-get-before-put.md.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from bayplan.client.lanes import Lane
from bayplan.client.sending import NOT_FOUND, RefusedError, Sender

Document: TypeAlias = dict[str, Any]


class Documents:
    """Reads and writes objects in the lane of what a pod waits for before it is bound."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    async def get(self, path: str) -> Document:
        """The object; raises RefusedError if there is none."""
        return _decoded((await self._sender.get(Lane.BINDINGS, path)).body)

    async def find(self, path: str) -> Document | None:
        """The object, None if there is none."""
        try:
            return await self.get(path)
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def put(self, path: str, document: Document, context: str = "") -> Document:
        """The object as it is stored then; `context` precedes what the server says against it."""
        return await self._write("PUT", path, document, context)

    async def post(self, path: str, document: Document, context: str = "") -> Document:
        """The object as it was created."""
        return await self._write("POST", path, document, context)

    async def _write(self, method: str, path: str, document: Document, context: str) -> Document:
        response = await self._sender.send(Lane.BINDINGS, method, path, msgspec.json.encode(document))
        if not response.ok:
            raise RefusedError(response, context)
        return _decoded(response.body)


def _decoded(body: bytes) -> Document:
    document = msgspec.json.decode(body)
    if not isinstance(document, dict):
        raise msgspec.ValidationError("the server's answer is not an object")
    return document
