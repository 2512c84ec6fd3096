"""The application on a socket: uvicorn, started and stopped from within a running event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from bayplan.apiserver.http.connections import HttpConnection
from bayplan.apiserver.http.either_way import EitherWayListener

#: A connection on which nothing is asked is closed after this; clients open a new one without noticing.
_KEEP_ALIVE_S = 120
_SHUTDOWN_S = 5


class TlsFiles(NamedTuple):
    certificate: Path
    key: Path


def listening_socket(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket that listens; port 0 means any free one. Others may listen there too if it is shared. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio only then has small pieces sent at once; otherwise each answer may wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


class Server:
    """Serves an application until it is told to stop; a context of its own is for those who change certificates."""

    def __init__(
        self,
        application: Any,
        listening: socket.socket,
        tls: TlsFiles | ssl.SSLContext | None = None,
        *,
        plain_too: bool = False,
    ) -> None:
        """With `plain_too` clients may also come without TLS."""
        self._application = application
        self._listening = listening
        self._serves_both = plain_too and tls is not None
        config = uvicorn.Config(
            application,
            http=HttpConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # warnings are about what clients send, and clients are answered
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_SHUTDOWN_S,
            ssl_certfile=str(tls.certificate) if isinstance(tls, TlsFiles) else None,
            ssl_keyfile=str(tls.key) if isinstance(tls, TlsFiles) else None,
            ssl_version=ssl.PROTOCOL_TLS_SERVER,
        )
        config.load()
        if isinstance(tls, ssl.SSLContext):
            config.ssl = tls
        self._server = uvicorn.Server(config)

    async def serve(self) -> None:
        """Serves until `stop`."""
        if not self._serves_both:
            await self._server._serve([self._listening])
            return
        config = self._server.config
        assert config.ssl is not None
        listener = EitherWayListener(self._listening, self._connection, config.ssl)
        try:
            await self._server._serve([])
        finally:
            listener.close()
            self._listening.close()

    def _connection(self) -> HttpConnection:
        return HttpConnection(self._server.config, self._server.server_state, self._server.lifespan.state)

    async def started(self) -> None:
        """Returns once requests are answered."""
        while not self._server.started:
            await asyncio.sleep(0.005)

    def stop(self) -> None:
        """Answers what has been asked, and ends."""
        close = getattr(self._application, "close", None)
        if close is not None:
            close()
        self._server.should_exit = True
