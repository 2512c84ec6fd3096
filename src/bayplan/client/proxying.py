"""Ways through a proxy to a server: HTTP's CONNECT, also inside TLS, and SOCKS5.

Takes a connection to the proxy; leaves it such that the next byte is the server's. Raises `ProxyRefused`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Final

from bayplan.client.connection import Address
from bayplan.client.go_errors import UNEXPECTED_EOF, connection_broken, host_and_port
from bayplan.client.tls_contexts import verifying_context
from bayplan.client.wire import Wire

_HEAD_MAX: Final = 64 * 1024
_END_OF_HEAD: Final = b"\r\n\r\n"
_SOCKS_NO_AUTHENTICATION, _SOCKS_PASSWORD = 0, 2
_SOCKS_FAILURES: Final = (
    "succeeded",
    "general SOCKS server failure",
    "connection not allowed by ruleset",
    "network unreachable",
    "host unreachable",
    "connection refused",
    "TTL expired",
    "command not supported",
    "address type not supported",
)


class ProxyRefused(Exception):  # noqa: N818 - as BrokenExchange
    """The proxy does not let us through; the text is Go's."""


async def ask_http_proxy(plain: socket.socket, proxy: Address, server: Address) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(plain, _connect_request(proxy, server))
    head = b""
    while not head.endswith(_END_OF_HEAD):
        head += await _some(plain, 1)  # not a byte more than the proxy's own: the rest belongs to TLS
        _check_length(head)
    _check_status(head)


async def ask_socks_proxy(plain: socket.socket, proxy: Address, server: Address) -> None:
    """The server's name goes to the proxy, which looks it up."""
    loop = asyncio.get_running_loop()
    methods = bytes([_SOCKS_NO_AUTHENTICATION, *([_SOCKS_PASSWORD] if proxy.user else [])])
    await loop.sock_sendall(plain, bytes([5, len(methods)]) + methods)
    version, method = await _exactly(plain, 2)
    if version != 5 or method not in methods:
        raise ProxyRefused("socks connect tcp: no acceptable authentication methods")
    if method == _SOCKS_PASSWORD:
        user, password = proxy.user.encode(), (proxy.password or "").encode()
        await loop.sock_sendall(plain, bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await _exactly(plain, 2))[1] != 0:
            raise ProxyRefused("socks connect tcp: username/password authentication failed")
    host = server.host.encode()
    await loop.sock_sendall(plain, bytes([5, 1, 0, 3, len(host)]) + host + struct.pack("!H", server.port))
    _, failure, _, kind = await _exactly(plain, 4)
    if failure:
        what = _SOCKS_FAILURES[failure] if failure < len(_SOCKS_FAILURES) else f"unknown code: {failure}"
        raise ProxyRefused(f"socks connect tcp {host_and_port(proxy.host, proxy.port)}: {what}")
    bound = {1: 4, 4: 16}.get(kind) or (await _exactly(plain, 1))[0]
    await _exactly(plain, bound + 2)


async def open_tunnel_in_tls(
    plain: socket.socket,
    proxy: Address,
    server: Address,
    context: ssl.SSLContext,
    name: str,
    on_lost: Callable[[Wire], None],
) -> Wire:
    """TLS to the proxy, CONNECT, and TLS to the server inside."""
    loop = asyncio.get_running_loop()
    transport, asking = await loop.create_connection(
        _Asking, sock=plain, ssl=verifying_context(), server_hostname=proxy.host
    )
    try:
        transport.write(_connect_request(proxy, server))
        _check_status(await asking.head)
        wire = Wire(on_lost)
        inner = await loop.start_tls(transport, wire, context, server_hostname=name)
    except BaseException:
        transport.abort()
        raise
    assert inner is not None
    wire.connection_made(inner)
    wire.watch_socket(plain)
    return wire


class _Asking(asyncio.Protocol):
    """Reads the proxy's answer to CONNECT; the server says nothing before we do, so nothing follows it."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        if _END_OF_HEAD in self._read and not self.head.done():
            self.head.set_result(self._read)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.head.done():
            self.head.set_exception(ProxyRefused(f"proxyconnect tcp: {connection_broken(exc, has_begun=True)}"))


def _connect_request(proxy: Address, server: Address) -> bytes:
    target = host_and_port(server.host, server.port)
    authorization = proxy.basic_authorization
    line = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{line}\r\n".encode()


def _check_status(head: bytes) -> None:
    """Go's error is the text after the status code, such as `Proxy Authentication Required`."""
    _, _, status = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    code, _, reason = status.partition(" ")
    if code != "200":
        raise ProxyRefused(reason or status or "malformed HTTP response")


def _check_length(head: bytes) -> None:
    if len(head) > _HEAD_MAX:
        raise ProxyRefused("proxyconnect tcp: malformed HTTP response")


async def _exactly(plain: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        read += await _some(plain, count - len(read))
    return read


async def _some(plain: socket.socket, count: int) -> bytes:
    read = await asyncio.get_running_loop().sock_recv(plain, count)
    if not read:
        raise ProxyRefused(f"proxyconnect tcp: {UNEXPECTED_EOF}")
    return read
