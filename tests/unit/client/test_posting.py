"""JSON over HTTP from a thread that waits: answers in all forms, and what is said when there is none."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from tests.support.extenders import serving

from bayplan.client.posting import PostAnswer, Poster, PostError
from bayplan.worlds.certificates import self_signed

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def scripted(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server for one connection; gives its address. `talk` gets the connection when the request is there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                received = b""
                while not received.endswith(b"{}"):
                    received += connection.recv(65536)
                talk(connection)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/ext/filter"
        thread.join()


def posted(talk: Callable[[socket.socket], None], timeout_s: float = 5) -> PostAnswer | str:
    with scripted(talk) as url:
        poster = Poster(url, timeout_s)
        try:
            return poster.post(url, b"{}")
        except PostError as error:
            return str(error).replace(url, "URL")
        finally:
            poster.close()


def sends(*parts: bytes, pause_s: float = 0) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        for part in parts:
            time.sleep(pause_s)
            try:
                connection.sendall(part)
            except OSError:
                return  # the client has gone

    return talk


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ((LENGTH + b"true",), PostAnswer(200, b"true")),
        ((LENGTH, b"tr", b"ue"), PostAnswer(200, b"true")),
        ((CHUNKED + b"2\r\ntr\r\n", b"2\r\nue\r\n0\r\n\r\n"), PostAnswer(200, b"true")),
        ((b"HTTP/1.0 200 OK\r\n\r\ntr", b"ue"), PostAnswer(200, b"true")),
        ((b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 9\r\n\r\nboom",), PostAnswer(500, b"")),
        ((b"HTTP/1.1 204 No Content\r\n\r\n",), PostAnswer(204, b"")),
        ((), 'Post "URL": EOF'),
        ((b"HTTP/1.1 200 OK\r\nContent-",), 'Post "URL": EOF'),
        ((LENGTH + b"tr",), "unexpected EOF"),
        ((CHUNKED + b"2\r\ntr\r\n",), "unexpected EOF"),
    ],
)
def test_an_answer_may_come_in_pieces_and_break_off(parts: tuple[bytes, ...], answer: PostAnswer | str) -> None:
    assert posted(sends(*parts, pause_s=0.01)) == answer


def test_what_is_no_http_is_named() -> None:
    found = posted(sends(b"SSH-2.0-OpenSSH_9.2\r\n"))
    assert isinstance(found, str)
    assert found.startswith('Post "URL": net/http: HTTP/1.x transport connection broken: ')


def test_a_connection_that_is_reset_is_named() -> None:
    def reset(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    found = posted(reset)
    assert isinstance(found, str)
    assert found.endswith("read: connection reset by peer")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            (b"HTTP/1.1 200 OK\r\n", *[b"X-Slow: yes\r\n"] * 20),
            'Post "URL": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
        ),
        (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", *[b" "] * 20),
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
        ),
    ],
)
def test_the_time_limit_holds_for_the_whole_exchange(parts: tuple[bytes, ...], said: str) -> None:
    """However often a little more comes."""
    assert posted(sends(*parts, pause_s=0.05), timeout_s=0.5) == said


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(PostError) as raised:
        Poster(f"http://127.0.0.1:{port}", 1).post(f"http://127.0.0.1:{port}/filter", b"")
    said = f'Post "http://127.0.0.1:{port}/filter": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert str(raised.value) == said


def test_nobody_knows_the_host() -> None:
    with pytest.raises(PostError, match=r"dial tcp: lookup no-such-host\.invalid: no such host"):
        Poster("http://no-such-host.invalid", 1).post("http://no-such-host.invalid/filter", b"")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("extender:8080/x", 'unsupported protocol scheme "extender"'),
        ("/x", 'unsupported protocol scheme ""'),
        ("ftp://extender/x", 'unsupported protocol scheme "ftp"'),
        ("http:///x", "http: no Host in request URL"),
    ],
)
def test_an_address_that_leads_nowhere(url: str, said: str) -> None:
    with pytest.raises(PostError) as raised:
        Poster(url, 1).post(url, b"")
    assert str(raised.value) == f'Post "{url}": {said}'


def test_connections_are_used_again() -> None:
    with serving({"/ext/a": (200, {})}) as server:
        poster = Poster(server.url, 5)
        for _ in range(3):
            assert poster.post(f"{server.url}a", b"{}") == PostAnswer(200, b"{}")
        assert server.connections == 1
        poster.close()
        poster.post(f"{server.url}a", b"{}")
        assert server.connections == 2
        poster.close()


def test_a_server_that_closes_kept_connections_is_dialled_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listening.accept()
                with connection:
                    while not connection.recv(65536).endswith(b"{}"):
                        pass
                    connection.sendall(LENGTH + b"true")

        thread = Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        poster = Poster(url, 5)
        assert poster.post(url, b"{}").body == b"true"
        time.sleep(0.05)
        assert poster.post(url, b"{}").body == b"true"
        poster.close()
        thread.join()


def test_a_request_is_a_plain_post_of_json() -> None:
    with serving({"/ext/filter?x=1": (200, {})}) as server:
        poster = Poster(server.url, 5)
        poster.post(f"{server.url}filter?x=1", b'{"a": 1}')
        poster.close()
        (request,) = server.requests
    assert request.plain == {"a": 1}
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Host"] in server.url


@pytest.mark.parametrize(
    ("trusts", "server_name", "said"),
    [
        (True, "", ""),
        (True, "extender.example", ""),
        (True, "other.example", "certificate is not valid for other.example"),
        (False, "", "certificate signed by unknown authority"),
    ],
)
def test_over_tls_the_server_must_be_who_it_is_said_to_be(trusts: bool, server_name: str, said: str) -> None:
    made = self_signed(["127.0.0.1", "extender.example"])
    context = ssl.create_default_context(cadata=made.certificate.decode() if trusts else None)
    with serving({"/ext/filter": (200, {})}, made) as server:
        poster, url = Poster(server.url, 5, context, server_name), f"{server.url}filter"
        if not said:
            assert poster.post(url, b"{}") == PostAnswer(200, b"{}")
            poster.close()
            return
        with pytest.raises(PostError) as raised:
            poster.post(url, b"{}")
        assert str(raised.value) == f'Post "{url}": tls: failed to verify certificate: x509: {said}'
