"""Addresses that are valid and yet not written as they should be.

Upstream: apimachinery/pkg/util/validation/ip.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from bayplan.apiserver.admitting.documents import Path


def warn_of_address(text: str, path: Path) -> Iterator[str]:
    """Of an address that passed validation."""
    try:
        address = ip_address(text)
    except ValueError:
        plain = _without_leading_zeros(text)
        if plain != text:
            yield f'{path}: non-standard IP address "{text}" is invalid: use "{plain}"'
        return
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            yield f'{path}: non-standard IP address "{text}" is invalid: use "{address.ipv4_mapped}"'
        elif str(address) != text:
            yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'


def warn_of_network(text: str, path: Path) -> Iterator[str]:
    """Of a range of addresses that passed validation."""
    try:
        network: IPv4Network | IPv6Network = ip_network(text, strict=False)
    except ValueError:
        return
    address = ip_address(text.partition("/")[0])
    if address != network.network_address:
        text_of_network = f"{network.network_address}/{network.prefixlen}"
        yield (
            f'{path}: CIDR value "{text}" is ambiguous in this context '
            f'(should be "{text_of_network}" or "{address}/{network.max_prefixlen}"?)'
        )
    elif network.version == 6 and str(network) != text:
        yield f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'


def _without_leading_zeros(text: str) -> str:
    parts = text.split(".")
    return ".".join(str(int(part)) if part.isdigit() else part for part in parts)
