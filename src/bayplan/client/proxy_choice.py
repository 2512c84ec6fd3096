"""Which proxy leads to a server: the kubeconfig's, or that of the environment as Go reads it.

Takes a cluster's `proxy-url` and HTTPS_PROXY, HTTP_PROXY and NO_PROXY; gives an address or None.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from bayplan.client.connection import HTTPS, PROXY_SCHEMES, Address, address_of

_ALL: Final = "*"


def proxy_from_environment(server: Address, environ: Mapping[str, str]) -> Address | None:
    """Raises ValueError for a proxy that cannot be one."""
    variable = "HTTPS_PROXY" if server.scheme == HTTPS else "HTTP_PROXY"
    if variable == "HTTP_PROXY" and environ.get("REQUEST_METHOD"):
        return None  # inside a CGI program the variable may come from a request's header
    url = _value(environ, variable)
    if not url or _is_local(server.host) or _is_exempt(server, _value(environ, "NO_PROXY")):
        return None
    try:
        return address_of(url if "://" in url else f"http://{url}", PROXY_SCHEMES)
    except ValueError as error:
        raise ValueError(f"environment variable {variable}: {error}") from None


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.lower(), "")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_exempt(server: Address, no_proxy: str) -> bool:
    return any(_matches(entry.strip().lower(), server) for entry in no_proxy.split(",") if entry.strip())


def _matches(entry: str, server: Address) -> bool:
    """One entry of NO_PROXY: `*`, a network, an address or a domain, the latter two perhaps with a port."""
    if entry == _ALL:
        return True
    host = server.host.lower().rstrip(".")
    address = _ip(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, port = _split(entry)
    if port and port != str(server.port):
        return False
    if _ip(name) is not None:
        return address == _ip(name)
    if name.startswith("*."):
        name = name[1:]
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, port.removeprefix(":")
    if entry.count(":") == 1:
        name, _, port = entry.partition(":")
        return name, port
    return entry, ""


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
