"""A cluster as it is at one moment: all objects of the kinds that matter, read once, page by page.

Takes a client; gives the pages as the server sent them, all of the same version of the cluster where the server can do
that. Secrets and config maps are not among the kinds, and writes nothing. A kind that the server does not have or does
not show is reported by name.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

import msgspec

from bayplan.client.contract import ApiClient, Response, TransportError
from bayplan.client.paths import list_path
from bayplan.client.refusals import read_status
from bayplan.client.server_version import server_version
from bayplan.client.watched_kinds import INDISPENSABLE
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import KINDS, KindInfo

_PAGE: Final = 500
_TRIES: Final = 3
_GONE, _TOO_NEW = 410, 504  # that version is no more, or not yet
_NOT_FOUND, _FORBIDDEN = 404, 403
_AGENT: Final = "snapshot"
_STABLE: Final = "v1"


@dataclass
class ListedPages:
    """Lists as JSON, each with its path, and what is not in them."""

    pages: list[tuple[str, bytes]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_whole: bool = True  # the server showed every kind that it has
    server_version: str | None = None  # `v1.36.4`


class _ListMeta(msgspec.Struct, rename={"next_page": "continue", "version": "resourceVersion"}):
    next_page: str = ""
    version: str = ""


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Expired(Exception):  # noqa: N818 - says what happened to the version that was to be read
    """The server cannot show this version of the cluster."""


async def read_snapshot(client: ApiClient) -> ListedPages:
    """Everything, of one version if possible. Raises InvalidObject if the server cannot be asked."""
    try:
        for _ in range(_TRIES):
            try:
                return await _read(client, await _current_version(client))
            except _Expired:
                continue
        snapshot = await _read(client, "")
    except TransportError as error:
        raise InvalidObject([Fault("", "", "", str(error))]) from None
    snapshot.notes.append("the cluster changed while it was read: kinds may be of slightly different times")
    return snapshot


async def _current_version(client: ApiClient) -> str:
    path = f"{list_path(KINDS['Namespace'])}?limit=1"
    response = await client.request("GET", path, agent=_AGENT)
    # Who may not list namespaces may list others; then the kinds are read each at its own time.
    return msgspec.json.decode(response.body, type=_List).metadata.version if response.ok else ""


async def _read(client: ApiClient, version: str) -> ListedPages:
    snapshot = ListedPages()
    reading = [asyncio.ensure_future(_read_kind(client, info, version, snapshot)) for info in KINDS.values()]
    try:
        for pages in await asyncio.gather(*reading):
            snapshot.pages += pages
    finally:
        for task in reading:
            task.cancel()
    snapshot.notes.sort()
    snapshot.server_version = await server_version(client, _AGENT)
    return snapshot


async def _read_kind(client: ApiClient, info: KindInfo, version: str, snapshot: ListedPages) -> list[tuple[str, bytes]]:
    path = list_path(info)
    exactly = f"&resourceVersion={version}&resourceVersionMatch=Exact" if version else ""
    query = f"limit={_PAGE}{exactly}"
    pages: list[tuple[str, bytes]] = []
    while query:
        response = await client.request("GET", f"{path}?{query}", agent=_AGENT)
        if response.status == _NOT_FOUND and info.version != _STABLE:  # it may have become stable since
            return await _read_kind(client, replace(info, version=_STABLE), version, snapshot)
        if not response.ok:
            note = _refusal(info, response, is_exact=bool(version))
            snapshot.is_whole = snapshot.is_whole and response.status == _NOT_FOUND
            snapshot.notes += [note] if note else []
            return []
        pages.append((path, response.body))
        next_page = msgspec.json.decode(response.body, type=_List).metadata.next_page
        query = f"limit={_PAGE}&continue={quote(next_page)}" if next_page else ""
    return pages


def _refusal(info: KindInfo, response: Response, *, is_exact: bool) -> str:
    """What is to be noted; raises where that is not enough."""
    if is_exact and response.status in (_GONE, _TOO_NEW):
        raise _Expired
    if response.status == _NOT_FOUND and info.kind not in INDISPENSABLE:
        # What is not stable yet is off in most clusters.
        is_expected = KINDS[info.kind].version == _STABLE
        return f"the server has no {info.kind} ({info.api_version})" if is_expected else ""
    message = read_status(response.body).message
    text = f"cannot list {info.kind} ({info.api_version}): {message or f'status {response.status}'}"
    if response.status == _FORBIDDEN and info.kind not in INDISPENSABLE:
        return f"{text}; answers may be wrong without them"
    raise InvalidObject([Fault("", "", "", text)])
