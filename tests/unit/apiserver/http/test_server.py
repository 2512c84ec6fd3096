"""The application on a socket."""

from __future__ import annotations

import socket

from bayplan.apiserver.http.server import listening_socket


def test_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY only on sockets that say which protocol they speak."""
    with listening_socket("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
