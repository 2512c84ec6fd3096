"""What an API server says when it refuses: a Status, or what stands before the server says something of its own.

Takes an answer; gives its text. What a refusal means, and whether to ask again, is up to whoever asked.
"""

from __future__ import annotations

import msgspec

from bayplan.client.contract import Response

_SHOWN_MAX = 200


class ApiStatus(msgspec.Struct):
    """The answer of a server that refuses."""

    message: str = ""
    reason: str = ""
    code: int = 0


_decode = msgspec.json.Decoder(ApiStatus, strict=False).decode


def read_status(body: bytes) -> ApiStatus:
    """What a refusal says; its own text where it is no Status."""
    try:
        return _decode(body)
    except msgspec.DecodeError:
        return ApiStatus(message=_text(body))


def message_of(response: Response) -> str:
    """What the server says about a refusal, as Go's client has it."""
    try:
        message = _decode(response.body).message
    except msgspec.DecodeError:
        message = ""
    shown = _text(response.body) or "unknown"
    return message or f'an error on the server ("{shown}") has prevented the request from succeeding'


def _text(body: bytes) -> str:
    return body.decode(errors="replace").strip()[:_SHOWN_MAX]
