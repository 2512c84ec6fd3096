"""URLs as Go reads them: what it refuses and in which words, and the parts it finds.

`parse_url` takes what a request may be made to: an absolute URL, or an absolute path. Nothing is resolved or fetched.
Upstream: net/url (Go 1.26), ParseRequestURI and, for what follows a `#`, Parse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bayplan.model.ip_addresses import AddressError, parse_address
from bayplan.model.selectors import quoted

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_USER_INFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
#: Besides those: what stands in a host, what stays in a path, and what may stand in a path that was escaped already.
_IN_HOST: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_IN_PATH: Final = _UNRESERVED | frozenset(b"$&+,/:;=@")
_IN_ESCAPED_PATH: Final = _IN_PATH | frozenset(b"!'()*[]%")


class UrlError(ValueError):
    """The text is no URL; says so as Go does."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL, of which any may be empty."""

    scheme: str = ""
    user: str = ""
    host: str = ""
    """With its port."""
    escaped_path: str = ""
    query: str = ""
    fragment: str = ""
    opaque: str = ""

    @property
    def host_name(self) -> str:
        name = self.host[: len(self.host) - len(self._port_part())]
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        return self._port_part()[1:]

    def _port_part(self) -> str:
        colon = self.host.rfind(":")
        part = self.host[colon:] if colon >= 0 else ""
        return part if _PORT.fullmatch(part) else ""

    def query_values(self) -> dict[str, list[str]]:
        """What cannot be read is left out."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.replace("+", " ").partition("=")
            try:
                found.setdefault(_unescaped(key), []).append(_unescaped(value))
            except UrlError:
                found = {name: values for name, values in found.items() if values}
        return found


def is_request_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


@lru_cache(maxsize=1024)
def parse_request_uri(text: str) -> Url:
    """As a client sends it to a server, which knows of no fragments. Raises UrlError."""
    try:
        return _parse(text, whole=True)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from None


@lru_cache(maxsize=1024)
def parse_url(text: str) -> Url:
    """What a request may be made to, and the fragment behind it. Raises UrlError."""
    parse_request_uri(text)
    before, _, fragment = text.partition("#")
    try:
        url = _parse(before, whole=False)
    except UrlError as error:
        raise UrlError(f"parse {quoted(before)}: {error}") from None
    try:
        _unescaped(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from None
    return Url(url.scheme, url.user, url.host, url.escaped_path, url.query, fragment, url.opaque)


def _parse(text: str, *, whole: bool) -> Url:
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and whole:
        raise UrlError("empty url")
    if text == "*":
        return Url(escaped_path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    found = _SCHEME.match(text)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, query=query, opaque=rest)
        if whole:
            raise UrlError("invalid URI for request")
    user = host = ""
    if rest.startswith("//") and (scheme or (not whole and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _parse_authority(scheme, authority)
    return Url(scheme, user, host, _escaped_path(rest), query)


def _parse_authority(scheme: str, authority: str) -> tuple[str, str]:
    user, at, host = authority.rpartition("@")
    parsed = _parse_host(scheme, host)
    if at and not _USER_INFO.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    _unescaped(user)
    return user, parsed


def _parse_host(scheme: str, host: str) -> str:
    if host.rfind("[") > 0:
        raise UrlError("invalid IP-literal")
    if host.startswith("["):
        return _parse_literal(host)
    # Elsewhere than on the web several hosts may be listed, with their ports.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescaped_host(host)


def _parse_literal(host: str) -> str:
    """An IPv6 address in brackets."""
    name, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise UrlError("missing ']' in host")
    _check_port(port)
    address, percent, zone = name.partition("%25")
    plain = _unescaped_host(address) + (f"%{_unescaped(zone)}" if percent else "")
    try:
        parsed = parse_address(plain)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if parsed.ip.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{plain}]{port}"


def _check_port(part: str) -> None:
    if not _PORT.fullmatch(part):
        raise UrlError(f"invalid port {quoted(part)} after host")


def _unescaped_host(host: str) -> str:
    """Only what no host can contain otherwise may be escaped."""
    data = host.encode()
    for start, byte in enumerate(data):
        if byte == ord("%"):
            code = _code_at(data, start)
            if code < 0x80:
                raise UrlError(f"invalid URL escape {quoted(data[start : start + 3].decode())}")
        elif byte < 0x80 and byte not in _IN_HOST:
            raise UrlError(f"invalid character {quoted(chr(byte))} in host name")
    return _unescaped(host)


def _unescaped(text: str) -> str:
    data = text.encode()
    for start, byte in enumerate(data):
        if byte == ord("%"):
            _code_at(data, start)
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), data).decode(errors="replace")


def _code_at(data: bytes, start: int) -> int:
    """The byte that is escaped there."""
    found = _ESCAPE.match(data, start)
    if found is None:
        raise UrlError(f"invalid URL escape {quoted(data[start : start + 3].decode(errors='replace'))}")
    return int(found[1], 16)


def _escaped_path(path: str) -> str:
    plain = _unescaped(path)
    if all(byte in _IN_ESCAPED_PATH for byte in path.encode()):
        return path
    return "".join(chr(byte) if byte in _IN_PATH else f"%{byte:02X}" for byte in plain.encode())
