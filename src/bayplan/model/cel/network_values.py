"""Addresses, networks, URLs and named formats as values of expressions.

All are immutable. Zones of addresses are refused, and IPv4 addresses in IPv6's clothes.
Upstream: apiserver/pkg/cel/library/ip.go, cidr.go, urls.go and format.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network

from bayplan.model.cel.values import CelError
from bayplan.model.go_urls import Url, UrlError, parse_url
from bayplan.model.ip_addresses import AddressError, IpAddress, ZonedAddress, parse_address, parse_network
from bayplan.model.selectors import quoted


@dataclass(frozen=True, slots=True)
class IpValue:
    """An IP address."""

    ip: IpAddress

    @classmethod
    def parse(cls, text: str) -> IpValue:
        """Raises CelError."""
        try:
            address = parse_address(text)
        except AddressError as error:
            raise CelError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
        if address.zone:
            raise CelError(f"IP address {quoted(text)} with zone value is not allowed")
        _refuse_mapped(address, text)
        return cls(address.ip)

    def __str__(self) -> str:
        return str(self.ip)


@dataclass(frozen=True, slots=True)
class CidrValue:
    """An address and the size of its network."""

    ip: IpAddress
    bits: int

    @classmethod
    def parse(cls, text: str) -> CidrValue:
        """Raises CelError, in whose words upstream says what it was doing, and mostly twice."""
        doing = "network address parse error during conversion from string"
        try:
            address, bits = parse_network(text)
        except AddressError as error:
            raise CelError(f"{doing}: {doing}: {error}") from None
        try:
            _refuse_mapped(address, text)
        except CelError as error:
            raise CelError(f"{doing}: {error}") from None
        return cls(address.ip, bits)

    def __str__(self) -> str:
        return f"{self.ip}/{self.bits}"

    @property
    def network(self) -> IPv4Network | IPv6Network:
        return ip_network(str(self), strict=False)

    def masked(self) -> CidrValue:
        return CidrValue(self.network.network_address, self.bits)


def _refuse_mapped(address: ZonedAddress, text: str) -> None:
    if isinstance(address.ip, IPv6Address) and address.ip.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A URL, or an absolute path."""

    url: Url

    @classmethod
    def parse(cls, text: str) -> UrlValue:
        """Raises CelError."""
        try:
            return cls(parse_url(text))
        except UrlError as error:
            raise CelError(f"URL parse error during conversion from string: {error}") from None


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """What a text may look like."""

    name: str
    faults: Callable[[str], tuple[str, ...]] = field(compare=False)
    """What is wrong with a text."""
