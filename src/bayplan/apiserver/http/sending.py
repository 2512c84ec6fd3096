"""Answers on their way out, in ASGI's terms: whole ones, and those that go on for as long as the client listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any, Final, TypeAlias

from bayplan.apiserver.http.requests import Answer

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = tuple[tuple[str, str], ...]

#: What an API server says with every answer.
NOT_CACHED: Final = ("cache-control", "no-cache, private")
#: Bytes of a long answer that are handed on before others have their turn.
PIECE: Final = 256 * 1024


async def send_answer(answer: Answer, method: str, send: Send) -> None:
    """Sends a whole answer; to HEAD without its body."""
    length = ("content-length", str(len(answer.body)))
    await send(_start(answer.status, answer.content_type, (*answer.headers, length)))
    body, at = b"" if method == "HEAD" else answer.body, 0
    while len(body) - at > PIECE:
        await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": True})
        await asyncio.sleep(0)
        at += PIECE
    await send({"type": "http.response.body", "body": body[at:]})


async def send_pieces(
    pieces: AsyncGenerator[bytes, None], content_type: str, headers: Headers, receive: Receive, send: Send
) -> None:
    """Sends piece after piece, until there are no more or the client has left."""
    await send(_start(200, content_type, headers))
    sending = asyncio.ensure_future(_send_all(pieces, send))
    leaving = asyncio.ensure_future(_client_left(receive))
    _, unfinished = await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(sending, leaving, return_exceptions=True)


def _start(status: int, content_type: str, headers: Headers) -> dict[str, Any]:
    all_headers = (("content-type", content_type), *headers)
    encoded = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in all_headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def _send_all(pieces: AsyncGenerator[bytes, None], send: Send) -> None:
    async with aclosing(pieces):
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
