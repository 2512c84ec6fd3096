"""An API server that lets a client do what roles say, and nothing else.

A proxy in front of a cluster whose token may do everything: it reads what each request would do, refuses it in the real
server's words if no rule allows it, and remembers what was asked for. Runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import yaml

from bayplan.testing import LiveCluster

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
USER = "system:serviceaccount:bayplan-system:bayplan"


class Right(NamedTuple):
    """What a rule allows: a verb on a resource (`pods`, `pods/status`) of a group."""

    verb: str
    group: str
    resource: str

    @property
    def text(self) -> str:
        """How a refusal names it."""
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'


@dataclass(frozen=True)
class Attempt:
    """What a request would do."""

    right: Right
    namespace: str
    name: str


def rights_of(roles: Iterable[Mapping[str, Any]]) -> set[Right]:
    return {right for role in roles for rule in role["rules"] for right in _rights(rule)}


def _rights(rule: Mapping[str, Any]) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield Right(verb, group, resource)


def attempt_of(method: str, target: str) -> Attempt | None:
    """None for paths that are no resources, such as discovery."""
    url = urlsplit(target)
    parts = url.path.strip("/").split("/")
    if parts[0] == "api":
        group, rest = "", parts[2:]
    elif parts[0] == "apis":
        group, rest = parts[1], parts[3:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    name = rest[1] if len(rest) > 1 else ""
    verb = _VERBS.get(method) or ("get" if name else "list")
    if parse_qs(url.query).get("watch", ["false"])[0] in ("true", "1"):
        verb = "watch"
    return Attempt(Right(verb, group, "/".join([rest[0], *rest[2:]])), namespace, name)


class Authorizer:
    """Decides by roles, but for rights that are withheld."""

    def __init__(self, roles: Iterable[Mapping[str, Any]], withheld: Iterable[Right] = ()) -> None:
        self._roles = [*roles]
        self.withheld = frozenset(withheld)
        self.used: set[Right] = set()
        self.refused: set[Right] = set()

    def refusal(self, attempt: Attempt) -> dict[str, Any] | None:
        """The Status of a refusal; None if it is allowed."""
        right = attempt.right
        if right not in self.withheld and any(self._allows(role, attempt) for role in self._roles):
            self.used.add(right)
            return None
        self.refused.add(right)
        resource = right.resource.partition("/")[0]
        qualified = f"{resource}.{right.group}" if right.group else resource
        named = f'{qualified} "{attempt.name}"' if attempt.name else qualified
        where = f'in the namespace "{attempt.namespace}"' if attempt.namespace else "at the cluster scope"
        message = f'{named} is forbidden: User "{USER}" {right.text} {where}'
        return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": 403}

    def _allows(self, role: Mapping[str, Any], attempt: Attempt) -> bool:
        if role["kind"] == "Role" and role["metadata"]["namespace"] != attempt.namespace:
            return False
        return any(
            attempt.right in _rights(rule) and (attempt.name in rule.get("resourceNames", [attempt.name]))
            for rule in role["rules"]
        )


class AuthorizingProxy:
    """In front of a cluster, on a port of its own."""

    def __init__(self, cluster: LiveCluster, authorizer: Authorizer) -> None:
        self.authorizer = authorizer
        self._token = cluster.token
        self._server = urlsplit(cluster.url)
        self._talks: set[asyncio.Future[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._accept, "127.0.0.1", 0), self._loop)
        self._listener = listening.result(5)
        self.port: int = self._listener.sockets[0].getsockname()[1]

    def kubeconfig(self) -> str:
        """For a client that shows no token of its own: who it is does not matter here."""
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        users = [{"name": "u", "user": {}}]
        document = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": users}
        return yaml.safe_dump({**document, "current-context": "c"})

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _close(self) -> None:
        self._listener.close()
        await self._listener.wait_closed()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on each connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
            attempt = attempt_of(method, target)
            refusal = None if attempt is None else self.authorizer.refusal(attempt)
            if refusal is not None:
                body = json.dumps(refusal).encode()
                writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
            else:
                await self._pass_on(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has left
        finally:
            await _closed(writer)

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(self._server.hostname, self._server.port)
        first, *fields = head.rstrip(b"\r\n").split(b"\r\n")
        kept = [name for name in fields if not name.lower().startswith((b"connection:", b"authorization:"))]
        own = [b"Connection: close", f"Authorization: Bearer {self._token}".encode()]
        to_server.write(b"\r\n".join([first, *kept, *own]) + b"\r\n\r\n")
        sending = asyncio.ensure_future(_pump(reader, to_server))
        try:
            await _pump(from_server, writer)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await _closed(to_server)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
