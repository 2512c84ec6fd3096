"""Answers in protobuf, made of those in JSON, for clients that accept nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from bayplan.apiserver.http.accepting import PROTOBUF
from bayplan.apiserver.http.requests import Answer, StreamedAnswer
from bayplan.apiserver.schema.protobuf_encoding import encode, is_encodable, watch_frame
from bayplan.apiserver.storage.entries import decode_json
from bayplan.model.media_types import JSON

#: So many events of a watch are encoded before others have their turn.
_EVENTS_AT_ONCE = 20


def in_protobuf(answer: Answer | StreamedAnswer) -> Answer | StreamedAnswer:
    """The answer in protobuf; as it is, if it is no object of a built-in type."""
    if isinstance(answer, StreamedAnswer):
        return answer._replace(pieces=_frames(answer.pieces), content_type=f"{PROTOBUF};stream=watch")
    if answer.content_type != JSON:
        return answer
    document = decode_json(answer.body)
    if not is_encodable(document.get("apiVersion", ""), document.get("kind", "")):
        return answer
    return answer._replace(body=encode(document), content_type=PROTOBUF)


async def _frames(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            lines = piece.splitlines()
            for start in range(0, len(lines), _EVENTS_AT_ONCE):
                some = lines[start : start + _EVENTS_AT_ONCE]
                yield b"".join(watch_frame(decode_json(line)) for line in some)
                await asyncio.sleep(0)
