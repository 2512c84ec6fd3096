"""Making connections: names looked up, addresses tried in turn, proxies passed, TLS begun.

Takes a `Connection`; gives an open `Wire`. Raises `DialFailed` with Go's text: whatever fails here, the request has
certainly not been sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable
from typing import Final

from bayplan.client.connection import HTTPS, SOCKS5, Address, ClientCertificate, Connection
from bayplan.client.go_errors import HANDSHAKE_TIMEOUT, dial_failed, tls_failed
from bayplan.client.proxying import ProxyRefused, ask_http_proxy, ask_socks_proxy, open_tunnel_in_tls
from bayplan.client.tls_contexts import verifying_context
from bayplan.client.wire import Wire

_DIAL_SECONDS: Final = 30.0
_HANDSHAKE_SECONDS: Final = 10.0
_KEEPALIVE_IDLE, _KEEPALIVE_EVERY, _KEEPALIVE_COUNT = 30, 10, 3  # a peer that is gone is noticed within a minute


class DialFailed(Exception):  # noqa: N818 - as BrokenExchange
    """No connection, and why."""


class Dialer:
    """Connects to one server, over and over."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._context: ssl.SSLContext | None = None
        self._context_for: ClientCertificate | None = None

    @property
    def absolute_form(self) -> str:
        """What stands before the path in a request line: a plain HTTP proxy wants the whole URL."""
        address, proxy = self._connection.address, self._connection.proxy
        if proxy is None or proxy.scheme == SOCKS5 or address.scheme == HTTPS:
            return ""
        return f"{address.scheme}://{address.authority}"

    async def dial(self, on_lost: Callable[[Wire], None]) -> Wire:
        address, proxy = self._connection.address, self._connection.proxy
        if proxy is None:
            plain = await _open_socket(address)
            return await self._over(plain, on_lost, address)
        plain = await _open_socket(proxy, "proxyconnect tcp: ")
        try:
            if self.absolute_form:
                return await self._over(plain, on_lost, proxy)
            if proxy.scheme == HTTPS:
                return await self._over_tls_proxy(plain, on_lost, proxy)
            ask = ask_socks_proxy if proxy.scheme == SOCKS5 else ask_http_proxy
            await ask(plain, proxy, address)
        except (ProxyRefused, OSError) as error:
            plain.close()
            raise DialFailed(str(error)) from error
        return await self._over(plain, on_lost, address)

    async def _over(self, plain: socket.socket, on_lost: Callable[[Wire], None], peer: Address) -> Wire:
        """Plain HTTP or TLS over a connected socket."""
        name = self._name_of(peer)
        loop = asyncio.get_running_loop()
        try:
            context = self._context_of(peer) if peer.scheme == HTTPS else None
            _, wire = await loop.create_connection(
                lambda: Wire(on_lost),
                sock=plain,
                ssl=context,
                server_hostname=name if context is not None else None,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS if context is not None else None,
            )
        except (OSError, EOFError) as error:
            plain.close()
            raise DialFailed(_handshake_text(error, name)) from error
        except BaseException:
            plain.close()
            raise
        wire.watch_socket(plain)
        return wire

    async def _over_tls_proxy(self, plain: socket.socket, on_lost: Callable[[Wire], None], proxy: Address) -> Wire:
        """TLS to a proxy, and inside it TLS to the server."""
        address = self._connection.address
        name = self._name_of(address)
        try:
            return await open_tunnel_in_tls(plain, proxy, address, self._context_of(address), name, on_lost)
        except (OSError, EOFError) as error:
            plain.close()
            raise DialFailed(_handshake_text(error, name)) from error

    def _name_of(self, peer: Address) -> str:
        """Whom the peer's certificate must be for."""
        is_server = peer == self._connection.address
        return (self._connection.tls.server_name if is_server else "") or peer.host

    def _context_of(self, peer: Address) -> ssl.SSLContext:
        """The context for the server, made again when the credentials have another certificate."""
        if peer != self._connection.address:
            return verifying_context()
        own = self._connection.credentials.current.certificate
        if self._context is None or own != self._context_for:
            self._context = self._connection.tls.context(own)
            self._context_for = own
        return self._context


def _handshake_text(error: Exception, name: str) -> str:
    is_late = isinstance(error, ConnectionAbortedError | TimeoutError) and not isinstance(error, ssl.SSLError)
    return HANDSHAKE_TIMEOUT if is_late else tls_failed(error, name)


async def _open_socket(address: Address, prefix: str = "") -> socket.socket:
    """A connected socket to the first of the host's addresses that answers; the first of several failures counts."""
    failure = ""
    for family, host in await _resolve(address, prefix):
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            _prepare(plain)
            async with asyncio.timeout(_DIAL_SECONDS):
                await asyncio.get_running_loop().sock_connect(plain, (host, address.port))
        except OSError as error:
            plain.close()
            failure = failure or dial_failed(host, address.port, error)
        except BaseException:
            plain.close()
            raise
        else:
            return plain
    raise DialFailed(prefix + failure)


async def _resolve(address: Address, prefix: str) -> list[tuple[int, str]]:
    try:
        literal = ipaddress.ip_address(address.host)
    except ValueError:
        pass
    else:
        return [(socket.AF_INET if literal.version == 4 else socket.AF_INET6, address.host)]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise DialFailed(prefix + dial_failed(address.host, address.port, error)) from error
    return list(dict.fromkeys((family, str(where[0])) for family, _, _, _, where in found))


def _prepare(plain: socket.socket) -> None:
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_EVERY)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_COUNT)
