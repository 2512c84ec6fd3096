"""One address with and without TLS: the first byte that a client sends tells which it wants.

kubectl sends a token over TLS only, and browsers do not trust a cluster's own certificate, so that one port serves both
best. Takes a socket that listens, and makes the protocol of each connection; it reads nothing but that byte, and leaves
it where it is.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

#: With this byte a TLS handshake begins, and no request of HTTP.
_HANDSHAKE: Final = b"\x16"
#: How long a connection may say nothing.
_SILENCE_SECONDS: Final = 30.0
_ACCEPTED_AT_ONCE: Final = 100


class EitherWayListener:
    """Accepts connections until it is closed."""

    def __init__(
        self, listening: socket.socket, make_protocol: Callable[[], asyncio.Protocol], encryption: ssl.SSLContext
    ) -> None:
        self._listening = listening
        self._make_protocol = make_protocol
        self._encryption = encryption
        self._silent: dict[socket.socket, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Accepts no more, and drops connections on which nothing was said."""
        self._loop.remove_reader(self._listening)
        for connection in [*self._silent]:
            self._drop(connection)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except OSError:  # nobody is there, or has left again; or there are too many
                return
            connection.setblocking(False)
            self._silent[connection] = self._loop.call_later(_SILENCE_SECONDS, self._drop, connection)
            self._loop.add_reader(connection, self._look, connection)

    def _look(self, connection: socket.socket) -> None:
        try:
            first = connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if not first:
            self._drop(connection)
            return
        self._forget(connection)
        task = self._loop.create_task(self._serve(connection, is_encrypted=first == _HANDSHAKE))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket, *, is_encrypted: bool) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make_protocol,
                connection,
                ssl=self._encryption if is_encrypted else None,
                ssl_handshake_timeout=_SILENCE_SECONDS if is_encrypted else None,
            )
        except OSError:  # of TLS as well: the client does not go on
            connection.close()

    def _forget(self, connection: socket.socket) -> None:
        self._silent.pop(connection).cancel()
        self._loop.remove_reader(connection)

    def _drop(self, connection: socket.socket) -> None:
        self._forget(connection)
        connection.close()
