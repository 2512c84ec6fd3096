"""IP addresses and networks as Go reads them: what it refuses, and in which words.

Upstream: net/netip (Go 1.26), ParseAddr and ParsePrefix. Addresses without a port; masks in bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, TypeAlias

from bayplan.model.selectors import quoted

_HEX: Final = re.compile("[0-9a-fA-F]*")
_BITS: Final = re.compile("[0-9]|[1-9][0-9]+")
_GROUPS: Final = 8
IpAddress: TypeAlias = IPv4Address | IPv6Address


class AddressError(ValueError):
    """The text is no address, or no network; says so as Go does."""


@dataclass(frozen=True, slots=True)
class ZonedAddress:
    """An address, and the zone that follows an IPv6 address behind a percent sign."""

    ip: IpAddress
    zone: str = ""

    def __str__(self) -> str:
        return f"{self.ip}%{self.zone}" if self.zone else str(self.ip)


def parse_address(text: str) -> ZonedAddress:
    """Raises AddressError."""
    kind = next((letter for letter in text if letter in ".:%"), "")
    if kind == ".":
        return ZonedAddress(IPv4Address(bytes(_octets(text, text))))
    if kind == ":":
        return _parse_ipv6(text)
    raise _error(text, "missing IPv6 address" if kind else "unable to parse IP")


def parse_network(text: str) -> tuple[ZonedAddress, int]:
    """The address, whose last bits may be set, and how many bits the network has. Raises AddressError."""
    before, slash, bits = text.rpartition("/")

    def error(words: str) -> AddressError:
        return AddressError(f"netip.ParsePrefix({quoted(text)}): {words}")

    if not slash:
        raise error("no '/'")
    try:
        address = parse_address(before)
    except AddressError as problem:
        raise error(str(problem)) from None
    if address.zone:
        raise error("IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits) or int(bits) > 2**63 - 1:
        raise error(f"bad bits after slash: {quoted(bits)}")
    if int(bits) > address.ip.max_prefixlen:
        raise error("prefix length out of range")
    return address, int(bits)


def _error(text: str, words: str, at: str = "") -> AddressError:
    where = f" (at {quoted(at)})" if at else ""
    return AddressError(f"ParseAddr({quoted(text)}): {words}{where}")


def _octets(part: str, text: str) -> list[int]:
    """The four numbers of an IPv4 address, which is part of a text."""
    numbers: list[int] = []
    digits = ""
    for position, letter in enumerate(part):
        if letter in "0123456789":
            if digits == "0":
                raise _error(text, "IPv4 field has octet with leading zero")
            digits += letter
            if int(digits) > 255:
                raise _error(text, "IPv4 field has value >255")
        elif letter != ".":
            raise _error(text, "unexpected character", part[position:])
        elif not digits or position == len(part) - 1:
            raise _error(text, "IPv4 field must have at least one digit", part[position:])
        elif len(numbers) == 3:
            raise _error(text, "IPv4 address too long")
        else:
            numbers.append(int(digits))
            digits = ""
    if len(numbers) < 3:
        raise _error(text, "IPv4 address too short")
    return [*numbers, int(digits)]


def _parse_ipv6(text: str) -> ZonedAddress:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _error(text, "zone must be a non-empty string")
    groups: list[int] = []
    gap = None
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
    while rest and len(groups) < _GROUPS:
        found = _HEX.match(rest)
        digits = found[0] if found is not None else ""
        if len(digits) > 4:
            raise _error(text, "each group must have 4 or less digits", rest)
        if not digits:
            raise _error(text, "each colon-separated field must have at least one digit", rest)
        if rest[len(digits) :].startswith("."):
            groups += _embedded(rest, text, len(groups), has_gap=gap is not None)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        if rest[0] != ":":
            raise _error(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _error(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap is not None:
                raise _error(text, "multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
    if rest:
        raise _error(text, "trailing garbage after address", rest)
    return ZonedAddress(_without_gap(groups, gap, text), zone)


def _embedded(rest: str, text: str, before: int, *, has_gap: bool) -> list[int]:
    """The last two groups of an IPv6 address that ends like an IPv4 address."""
    if not has_gap and before != _GROUPS - 2:
        raise _error(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if before > _GROUPS - 2:
        raise _error(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    first, second, third, fourth = _octets(rest, text)
    return [first << 8 | second, third << 8 | fourth]


def _without_gap(groups: list[int], gap: int | None, text: str) -> IPv6Address:
    missing = _GROUPS - len(groups)
    if gap is None and missing:
        raise _error(text, "address string too short")
    if gap is not None and not missing:
        raise _error(text, "the :: must expand to at least one field of zeros")
    whole = groups if gap is None else [*groups[:gap], *[0] * missing, *groups[gap:]]
    return IPv6Address(b"".join(group.to_bytes(2, "big") for group in whole))
