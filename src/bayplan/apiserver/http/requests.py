"""A request as the server's parts see it, and the answer they give."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from bayplan.apiserver.registry.users import ADMIN, UserInfo
from bayplan.apiserver.storage.entries import encode_json
from bayplan.model.durations import parse_duration
from bayplan.model.media_types import JSON
from bayplan.store.errors import ApiError, BadRequest

_WHOLE: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_NUMBER_DIGITS: Final = 20
_VERSION_BITS, _VERSION_DIGITS = 64, 20
YAML = "application/yaml"
APPLY_PATCH: Final = "application/apply-patch+yaml"
TEXT: Final = "text/plain; charset=utf-8"


class Request(NamedTuple):
    """One HTTP request, its body read."""

    method: str
    segments: tuple[str, ...]
    """The path between slashes, decoded; a trailing slash leaves nothing behind."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes = b""
    user: UserInfo = ADMIN
    read_ahead: Any = None
    """What became of the body, if somebody has looked at it already: a value, or the error that there is none."""
    warnings: list[str] | None = None
    """What the client is to be warned of, whatever the answer."""

    def warn(self, warnings: Iterable[str]) -> None:
        """Notes what the client is to be warned of, where somebody asks for that."""
        if self.warnings is not None:
            self.warnings.extend(warnings)

    def flag(self, name: str) -> bool:
        """A query parameter that is true or false; like the real server, whatever is not false is true."""
        value = self.query.get(name)
        return value is not None and value.lower() not in ("false", "0", "f")

    def number(self, name: str) -> int | None:
        """A query parameter that is a whole number."""
        text = self.query.get(name)
        if not text:
            return None
        if _WHOLE.fullmatch(text) is None:
            raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        if len(text) > _NUMBER_DIGITS or not -(2**63) <= int(text) < 2**63:
            raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
        return int(text)

    def version(self) -> tuple[int | None, str]:
        """The version that the request names, None if it names none, and what is wrong with it in Go's words."""
        text = self.query.get("resourceVersion", "")
        if not text:
            return None, ""
        fault = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
        if not text.isascii() or not text.isdigit():
            return None, f"{fault}invalid syntax"
        if len(text) > _VERSION_DIGITS or int(text).bit_length() > _VERSION_BITS:
            return None, f"{fault}value out of range"
        return int(text), ""

    def check_timeout(self) -> None:
        """Raises BadRequest for a timeout that is no duration. Nothing takes long enough to be given up for one."""
        # Upstream: apiserver/pkg/endpoints/filters/request_deadline.go (v1.36).
        text = self.query.get("timeout")
        if not text:
            return
        try:
            parse_duration(text)
        except ValueError as error:
            number = _WHOLE.fullmatch(text) is not None
            why = f"missing unit in duration '{text}'" if number else str(error)
            words = why.replace("'", '"')
            raise BadRequest(f"invalid timeout specified in the request URL - time: {words}") from None

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class Answer(NamedTuple):
    """One HTTP answer, whole."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def error_answer(error: ApiError) -> Answer:
    """A refusal as the Status that clients know."""
    headers = (("retry-after", str(error.retry_after_s)),) if error.retry_after_s else ()
    return Answer(error.code, encode_json(error.status()), JSON, headers)


def _never(_react: Callable[[], None]) -> None:
    """For streams that wait for their client however long it takes."""


class StreamedAnswer(NamedTuple):
    """An answer that goes on: each piece is sent as it comes."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str = JSON
    when_stalled: Callable[[Callable[[], None]], None] = _never
    """Takes what to do once the client has not read for too long."""


def segments_of(raw_path: bytes) -> tuple[str, ...]:
    """The parts of a path, each decoded on its own, so that an encoded slash stays within its part."""
    text = raw_path.decode("ascii", "replace").removeprefix("/").removesuffix("/")
    if "%" not in text:
        return tuple(text.split("/")) if text else ()
    return tuple(unquote(part, errors="replace") for part in text.split("/"))


def query_of(raw_query: bytes) -> dict[str, str]:
    """Query parameters; the first of several of one name counts."""
    if not raw_query:
        return {}
    pairs = parse_qsl(raw_query.decode("utf-8", "replace"), keep_blank_values=True)
    return dict(reversed(pairs))
