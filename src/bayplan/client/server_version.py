"""Which version of Kubernetes an API server is of, as it says itself.

Takes a client; gives the text of `/version`, such as `v1.36.4`, or None where the server does not tell. What bayplan
makes of a version is decided in `bayplan.config.releases`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from bayplan.client.contract import ApiClient, TransportError

_AGAIN_S: Final = 1.0


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


async def server_version(client: ApiClient, agent: str = "scheduler") -> str | None:
    """Raises TransportError if there is no answer at all."""
    response = await client.request("GET", "/version", agent=agent)
    if not response.ok:
        return None
    try:
        return msgspec.json.decode(response.body, type=_Version).git_version or None
    except msgspec.DecodeError:
        return None


async def found_version(
    client: ApiClient, stopping: asyncio.Future[Any], on_trouble: Callable[[str], None]
) -> str | None:
    """As `server_version`, once there is a server to answer; None if the process is to stop before."""
    while not stopping.done():
        try:
            return await server_version(client)
        except TransportError as error:
            on_trouble(f"Cannot ask the server for its version, retrying: {error}")
        await asyncio.wait({stopping}, timeout=_AGAIN_S)
    return None
