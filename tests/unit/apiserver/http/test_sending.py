"""Whole answers on their way out."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from bayplan.apiserver.http.requests import Answer
from bayplan.apiserver.http.sending import PIECE, send_answer


def _sent(length: int, method: str) -> tuple[list[MutableMapping[str, Any]], int]:
    """What is sent of an answer with a body of that length, and how often others had their turn meanwhile."""
    messages: list[MutableMapping[str, Any]] = []
    turns = 0

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def main() -> None:
        counting = asyncio.ensure_future(count())
        await asyncio.sleep(0)
        await send_answer(Answer(200, bytes(length)), method, send)
        counting.cancel()

    asyncio.run(main())
    return messages, turns


@pytest.mark.parametrize("length", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 1])
def test_an_answer_is_sent_in_pieces_between_which_others_have_their_turn(length: int) -> None:
    (start, *pieces), turns = _sent(length, "GET")
    assert (b"content-length", str(length).encode()) in start["headers"]
    assert b"".join(piece["body"] for piece in pieces) == bytes(length)
    assert [piece.get("more_body", False) for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert max(len(piece["body"]) for piece in pieces) <= PIECE
    assert turns >= len(pieces) - 1


def test_head_is_told_the_length_alone() -> None:
    (start, *pieces), _ = _sent(2 * PIECE, "HEAD")
    assert (b"content-length", str(2 * PIECE).encode()) in start["headers"]
    assert [piece["body"] for piece in pieces] == [b""]
