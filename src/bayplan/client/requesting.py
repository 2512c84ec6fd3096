"""The requests that make up an action, sent over HTTP one after the other.

Takes steps (see `bayplan.performing`) and goes through them with the server's answers. Raises `RefusedError` for what
the server refuses and the steps do not expect, `LostError` or `NotSentError` for what has no answer. Which action comes
before another is not decided here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

import msgspec

from bayplan.client.contract import Response
from bayplan.client.documents import Document, overlay
from bayplan.client.known_objects import KnownObjects
from bayplan.client.lanes import Lane
from bayplan.client.patches import status_patch
from bayplan.client.paths import list_path
from bayplan.client.refusals import message_of
from bayplan.client.sending import BUSY, Sender
from bayplan.model.kinds import KINDS, Object, object_key
from bayplan.model.media_types import JSON, STRATEGIC_MERGE_PATCH
from bayplan.model.structs import Struct
from bayplan.model.time_units import SECOND
from bayplan.performing.requests import (
    Delete,
    Get,
    PatchStatus,
    Pause,
    Post,
    PostBinding,
    Put,
    RefusedError,
    RemoveUser,
    Request,
    Steps,
)

_encode: Final = msgspec.json.Encoder().encode


class _Meta(Struct):
    name: str
    namespace: str
    uid: str


class _Target(Struct):
    kind: str
    name: str


class _Binding(Struct):
    kind: str
    apiVersion: str  # noqa: N815
    metadata: _Meta
    target: _Target


class Requests:
    """Sends requests, and remembers what the answers say about objects whose status was written."""

    def __init__(self, sender: Sender, known: KnownObjects) -> None:
        self._sender = sender
        self._known = known
        self.created: Counter[tuple[str, bool]] = Counter()
        """Objects that were to be created, by kind and by whether they were."""

    async def go(self, lane: Lane, steps: Steps[None]) -> None:
        """Do what the steps ask for, until they are done."""
        read: dict[str, Document] = {}  # what the server gave, by path
        try:
            request = next(steps)
            while True:
                try:
                    answer = await self._answer(lane, request, read)
                except RefusedError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration:
            return

    async def _answer(self, lane: Lane, request: Request, read: dict[str, Document]) -> Any:
        match request:
            case PostBinding():
                await self._bind(lane, request)
            case PatchStatus(before, after):
                kind, key = type(before).__name__, object_key(before)
                response = await self._patch(lane, f"{_path(kind, key)}/status", status_patch(before, after))
                self._known.answered(kind, key, response.body)
            case Get(kind, key):
                path = _path(kind, key)
                return _object(kind, await self._sender.get(lane, path), path, read)
            case Post():
                return await self._create(lane, request.obj, read)
            case Put():
                return await self._put(lane, request, read)
            case RemoveUser():
                await self._remove_user(lane, request)
            case Delete():
                await self._delete(lane, request)
            case Pause(duration_ns):
                await asyncio.sleep(duration_ns / SECOND)
        return None

    async def _bind(self, lane: Lane, request: PostBinding) -> None:
        namespace, _, name = request.key.partition("/")
        target = _Target("Node", request.node)
        body = _encode(_Binding("Binding", "v1", _Meta(name, namespace, request.uid), target))
        _checked(await self._sender.send(lane, "POST", f"{_path('Pod', request.key)}/binding", body))
        self._known.forget("Pod", request.key)

    async def _create(self, lane: Lane, obj: Object, read: dict[str, Document]) -> Object:
        info = KINDS[type(obj).__name__]
        document = {**msgspec.to_builtins(obj), "apiVersion": info.api_version}
        path = _path(info.kind, object_key(obj))
        collection = path.rpartition("/")[0]
        is_created = False
        try:
            response = _checked(await self._sender.send(lane, "POST", collection, _encode(document)))
            is_created = True
        finally:
            self.created[info.kind, is_created] += 1
        return _object(info.kind, response, path, read)

    async def _put(self, lane: Lane, request: Put, read: dict[str, Document]) -> Object:
        before, after, kind = request.before, request.after, type(request.before).__name__
        path = _path(kind, object_key(before))
        document = overlay(read[path], msgspec.to_builtins(before), msgspec.to_builtins(after))
        address = f"{path}/{request.subresource}" if request.subresource else path
        response = await self._sender.send(lane, "PUT", address, _encode(document))
        return _object(kind, _checked(response), path, read)

    async def _remove_user(self, lane: Lane, request: RemoveUser) -> None:
        patch: Document = {"status": {"reservedFor": [{"$patch": "delete", "uid": request.user_uid}]}}
        if request.claim_uid:
            patch["metadata"] = {"uid": request.claim_uid}
        await self._patch(lane, f"{_path('ResourceClaim', request.key)}/status", _encode(patch))

    async def _patch(self, lane: Lane, path: str, body: bytes) -> Response:
        return _checked(await self._sender.send_again(lane, "PATCH", path, body, STRATEGIC_MERGE_PATCH, BUSY))

    async def _delete(self, lane: Lane, request: Delete) -> None:
        options: Document = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if request.uid:
            options["preconditions"] = {"uid": request.uid}
        path = _path(request.kind, request.key)
        response = await self._sender.send_again(lane, "DELETE", path, _encode(options), JSON, frozenset())
        _checked(response)
        if request.kind == "Pod":
            self._known.answered(
                request.kind, request.key, response.body
            )  # so that another preemptor does not delete it again


def _path(kind: str, key: str) -> str:
    """Where the server has the object, by `namespace/name`."""
    info = KINDS[kind]
    root = list_path(info).rpartition("/")[0]
    namespace, _, name = key.partition("/")
    inside = f"/namespaces/{namespace}" if info.namespaced else ""
    return f"{root}{inside}/{info.plural}/{name}"


def _object(kind: str, response: Response, path: str, read: dict[str, Document]) -> Object:
    document = msgspec.json.decode(response.body)
    if not isinstance(document, dict):
        raise msgspec.ValidationError("the server's answer is not an object")
    read[path] = document
    return msgspec.convert(document, KINDS[kind].struct)


def _checked(response: Response) -> Response:
    """The answer, unless it is a refusal."""
    if not response.ok:
        raise RefusedError(message_of(response), response.status)
    return response
