"""The HTTP client against a server that follows a script."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.scripted_server import Script, ScriptedServer, ServedConnection, always_ok, chunked, reply, serving

from bayplan.client.connection import Connection, Credential, FixedCredentials, address_of
from bayplan.client.contract import LostError, NotSentError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient
from bayplan.model.media_types import MERGE_PATCH

Run = Callable[[Coroutine[Any, Any, None]], None]
PATH = "/api/v1/pods"


@pytest.fixture(params=[asyncio.run, run_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


@asynccontextmanager
async def client_of(*scripts: Script, connections_max: int = 8) -> AsyncIterator[tuple[HttpClient, ScriptedServer]]:
    async with serving(*scripts) as server:
        client = HttpClient(Connection(address_of(server.url)), connections_max=connections_max)
        try:
            yield client, server
        finally:
            await client.close()


def answering(data: bytes) -> Script:
    async def script(connection: ServedConnection) -> None:
        while await connection.request():
            connection.send(data)

    return script


def breaking_after(data: bytes, answers: int = 0) -> Script:
    """Answers so many requests; sends this for the next, and closes."""

    async def script(connection: ServedConnection) -> None:
        for _ in range(answers):
            await connection.request()
            connection.send(reply())
        await connection.request()
        connection.send(data)

    return script


async def silent(connection: ServedConnection) -> None:
    """Takes requests, and never answers."""
    await connection.ended()


class TestWhatIsSent:
    def test_a_get_has_no_body(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok) as (client, server):
                assert (await client.request("GET", f"{PATH}?limit=5")).ok
                asked = server.asked[0]
                assert (asked.method, asked.target, asked.body) == ("GET", f"{PATH}?limit=5", b"")
                assert asked.headers["host"] == f"127.0.0.1:{server.port}"
                assert asked.headers["accept"] == "application/json"
                assert asked.headers.keys().isdisjoint({"content-type", "content-length", "accept-encoding"})

        run(main())

    def test_a_body_has_its_type_and_length_and_the_agent_ends_the_product(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok) as (client, server):
                await client.request("PATCH", PATH, b'{"a":1}', content_type=MERGE_PATCH, agent="leader-election")
                asked = server.asked[0]
                assert asked.body == b'{"a":1}'
                assert asked.headers["content-type"] == MERGE_PATCH
                assert asked.headers["user-agent"].startswith("bayplan/")
                assert asked.headers["user-agent"].endswith("/leader-election")

        run(main())

    def test_a_post_without_a_body_says_so(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok) as (client, server):
                await client.request("POST", PATH)
                assert server.asked[0].headers["content-length"] == "0"

        run(main())

    @pytest.mark.parametrize(
        ("user", "path", "authorization"),
        [
            pytest.param("", "", None, id="nobody"),
            pytest.param("me:secret%21@", "", "Basic bWU6c2VjcmV0IQ==", id="a user and password in the URL"),
            pytest.param("", "/prefix/", None, id="a path in the URL"),
        ],
    )
    def test_the_url_of_the_server(self, run: Run, user: str, path: str, authorization: str | None) -> None:
        async def main() -> None:
            async with serving(always_ok) as server:
                client = HttpClient(Connection(address_of(f"http://{user}127.0.0.1:{server.port}{path}")))
                await client.request("GET", PATH)
                await client.close()
                assert server.asked[0].target == path.rstrip("/") + PATH
                assert server.asked[0].headers.get("authorization") == authorization

        run(main())

    def test_further_headers_of_the_connection(self, run: Run) -> None:
        async def main() -> None:
            async with serving(always_ok) as server:
                headers = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
                client = HttpClient(Connection(address_of(server.url), headers=headers))
                await client.request("GET", PATH)
                await client.close()
                assert server.asked[0].headers["impersonate-user"] == "jane"
                assert server.asked[0].headers["impersonate-group"] == "a, b"

        run(main())


class TestAnswers:
    @pytest.mark.parametrize(
        ("data", "body"),
        [
            pytest.param(reply(b"hello"), b"hello", id="with a length"),
            pytest.param(reply(b""), b"", id="empty"),
            pytest.param(chunked(b"hel", b"l", b"o"), b"hello", id="in chunks"),
            pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + reply(b"hello"), b"hello", id="after an interim response"),
            pytest.param(reply(gzip.compress(b"hello"), "200 OK", "Content-Encoding: gzip"), b"hello", id="gzip"),
            pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="without a body"),
        ],
    )
    def test_a_response_may_come_in_any_two_pieces(self, run: Run, data: bytes, body: bytes) -> None:
        async def script(connection: ServedConnection) -> None:
            for position in range(1, len(data) + 1):
                await connection.request()
                connection.send(data[:position])
                await connection.writer.drain()
                await asyncio.sleep(0)
                connection.send(data[position:])

        async def main() -> None:
            async with client_of(script) as (client, server):
                for _ in range(1, len(data) + 1):
                    assert (await client.request("GET", PATH)).body == body
                assert server.connections == 1

        run(main())

    def test_a_response_may_come_byte_by_byte(self, run: Run) -> None:
        async def script(connection: ServedConnection) -> None:
            await connection.request()
            for byte in chunked(b"hello", b" ", b"world"):
                connection.send(bytes([byte]))
                await asyncio.sleep(0.0002)

        async def main() -> None:
            async with client_of(script) as (client, _):
                assert (await client.request("GET", PATH)).body == b"hello world"

        run(main())

    def test_a_body_of_unknown_length_ends_with_the_connection(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(breaking_after(b"HTTP/1.1 200 OK\r\n\r\nhello")) as (client, _):
                assert (await client.request("GET", PATH)).body == b"hello"

        run(main())

    def test_a_refusal_is_an_answer(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(answering(reply(b"no", "409 Conflict", "Retry-After: 1"))) as (client, _):
                response = await client.request("POST", PATH, b"{}")
                assert (response.status, response.ok, response.body) == (409, False, b"no")
                assert response.headers["retry-after"] == "1"

        run(main())


class TestConnections:
    def test_one_after_the_other_on_one_connection(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok) as (client, server):
                for _ in range(5):
                    await client.request("POST", PATH, b"{}")
                assert server.connections == 1

        run(main())

    def test_no_more_at_once_than_allowed(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok, connections_max=2) as (client, server):
                answers = await asyncio.gather(*(client.request("GET", PATH) for _ in range(20)))
                assert [answer.status for answer in answers] == [200] * 20
                assert server.connections == 2

        run(main())

    def test_the_most_recently_used_is_used_again(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(always_ok) as (client, server):
                await asyncio.gather(*(client.request("GET", PATH) for _ in range(3)))
                assert server.connections == 3
                for _ in range(4):
                    await client.request("GET", PATH)
                assert len(set(server.asked_on[3:])) == 1

        run(main())

    def test_a_connection_that_the_server_closes_after_its_answer_is_not_used_again(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(answering(reply(b"{}", "200 OK", "Connection: close"))) as (client, server):
                for _ in range(3):
                    await client.request("POST", PATH, b"{}")
                assert server.asked_on == [0, 1, 2]

        run(main())

    def test_a_post_does_not_go_to_a_connection_that_was_closed_meanwhile(self, run: Run) -> None:
        async def one_answer(connection: ServedConnection) -> None:
            await connection.request()
            connection.send(reply())

        async def main() -> None:
            async with client_of(one_answer) as (client, server):
                for _ in range(5):
                    assert (await client.request("POST", PATH, b"{}")).ok
                    await asyncio.sleep(0.005)
                assert server.asked_on == [0, 1, 2, 3, 4]

        run(main())

    def test_nor_to_one_whose_end_nobody_has_noticed_yet(self, run: Run) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        may_close, has_closed = threading.Event(), threading.Event()

        def serve() -> None:
            for _ in range(2):
                plain, _ = listening.accept()
                plain.recv(65536)
                plain.sendall(reply())
                may_close.wait(10)
                plain.close()
                has_closed.set()

        async def main() -> None:
            client = HttpClient(Connection(address_of(f"http://127.0.0.1:{listening.getsockname()[1]}")))
            assert (await client.request("POST", PATH, b"{}")).ok
            may_close.set()
            assert has_closed.wait(10)  # the event loop stands still meanwhile
            assert (await client.request("POST", PATH, b"{}")).ok
            await client.close()

        serving_thread = threading.Thread(target=serve)
        serving_thread.start()
        run(main())
        serving_thread.join()
        listening.close()

    def test_a_canceled_request_gives_its_place_to_another(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(silent, always_ok, connections_max=1) as (client, server):
                first = asyncio.ensure_future(client.request("POST", PATH, b"{}"))
                second = asyncio.ensure_future(client.request("GET", PATH))
                await asyncio.sleep(0.01)
                first.cancel()
                assert (await second).ok
                assert first.cancelled()
                assert server.connections == 2

        run(main())

    def test_who_waits_in_line_may_leave_it(self, run: Run) -> None:
        async def late(connection: ServedConnection) -> None:
            while await connection.request():
                await asyncio.sleep(0.02)
                connection.send(reply())

        async def main() -> None:
            async with client_of(late, connections_max=1) as (client, server):
                asking = [asyncio.ensure_future(client.request("GET", f"/{number}")) for number in range(3)]
                await asyncio.sleep(0.01)
                asking[1].cancel()
                assert (await asking[2]).ok
                assert [asked.target for asked in server.asked] == ["/0", "/2"]

        run(main())


class TestNoAnswer:
    def test_nobody_listens(self, run: Run) -> None:
        async def main() -> None:
            async with serving(always_ok) as server:
                pass
            client = HttpClient(Connection(address_of(server.url)))
            with pytest.raises(NotSentError) as caught:
                await client.request("POST", PATH, b"{}")
            address = f"127.0.0.1:{server.port}"
            assert (
                str(caught.value) == f'Post "http://{address}{PATH}": dial tcp {address}: connect: connection refused'
            )

        run(main())

    def test_a_dropped_get_on_a_used_connection_is_asked_again(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(breaking_after(b"", answers=1), always_ok) as (client, server):
                await client.request("GET", PATH)
                assert (await client.request("GET", PATH)).ok
                assert server.asked_on == [0, 0, 1]

        run(main())

    @pytest.mark.parametrize(
        ("method", "answers", "data", "text"),
        [
            pytest.param("POST", 1, b"", 'Post "{url}": EOF', id="a write on a used connection"),
            pytest.param("GET", 0, b"", 'Get "{url}": EOF', id="a read on a new connection"),
            pytest.param("GET", 1, b"HTTP/1.1 2", 'Get "{url}": unexpected EOF', id="a broken head"),
            pytest.param("DELETE", 0, reply(b"hello")[:-1], 'Delete "{url}": unexpected EOF', id="a broken body"),
            pytest.param(
                "PUT", 0, chunked(b"hello", is_complete=False), 'Put "{url}": unexpected EOF', id="a chunk is missing"
            ),
        ],
    )
    def test_lost(self, run: Run, method: str, answers: int, data: bytes, text: str) -> None:
        async def main() -> None:
            async with client_of(breaking_after(data, answers), always_ok) as (client, server):
                for _ in range(answers):
                    await client.request(method, PATH)
                with pytest.raises(LostError) as caught:
                    await client.request(method, PATH)
                assert str(caught.value) == text.format(url=f"{server.url}{PATH}")
                assert server.connections == 1
                assert (await client.request(method, PATH)).ok

        run(main())

    def test_a_get_is_asked_again_only_once(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(breaking_after(b"", answers=1), breaking_after(b"")) as (client, server):
                await client.request("GET", PATH)
                with pytest.raises(LostError, match="EOF"):
                    await client.request("GET", PATH)
                assert server.connections == 2

        run(main())

    def test_a_reset_names_both_ends(self, run: Run) -> None:
        async def resetting(connection: ServedConnection) -> None:
            await connection.request()
            connection.reset()

        async def main() -> None:
            async with client_of(resetting) as (client, server):
                with pytest.raises(LostError) as caught:
                    await client.request("POST", PATH, b"{}")
                assert str(caught.value).startswith(f'Post "{server.url}{PATH}": read tcp 127.0.0.1:')
                assert str(caught.value).endswith(f"->127.0.0.1:{server.port}: read: connection reset by peer")

        run(main())

    def test_what_is_not_http_is_lost(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(breaking_after(b"SSH-2.0-OpenSSH\r\n\r\n")) as (client, _):
                with pytest.raises(LostError, match="malformed HTTP response"):
                    await client.request("GET", PATH)

        run(main())


class TestTimeouts:
    def test_an_answer_that_is_late_is_lost_and_so_is_its_connection(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(silent, always_ok) as (client, server):
                with pytest.raises(LostError) as caught:
                    await client.request("GET", PATH, timeout_s=0.2)
                assert str(caught.value) == (
                    f'Get "{server.url}{PATH}": context deadline exceeded '
                    "(Client.Timeout exceeded while awaiting headers)"
                )
                assert (await client.request("GET", PATH, timeout_s=60)).ok
                assert server.connections == 2

        run(main())

    def test_a_deadline_is_that_of_one_request_not_of_its_connection(self, run: Run) -> None:
        async def second_is_late(connection: ServedConnection) -> None:
            await connection.request()
            connection.send(reply())
            await connection.request()
            await asyncio.sleep(0.7)
            connection.send(reply())

        async def main() -> None:
            async with client_of(second_is_late) as (client, _):
                assert (await client.request("GET", PATH, timeout_s=0.5)).ok
                assert (await client.request("GET", PATH)).ok

        run(main())

    def test_a_body_that_stops_coming(self, run: Run) -> None:
        async def stalling(connection: ServedConnection) -> None:
            await connection.request()
            connection.send(reply(b"hello")[:-1])
            await connection.ended()

        async def main() -> None:
            async with client_of(stalling) as (client, _):
                with pytest.raises(LostError, match="while reading body"):
                    await client.request("GET", PATH, timeout_s=0.2)

        run(main())

    def test_who_waits_for_a_connection_in_vain_has_sent_nothing(self, run: Run) -> None:
        async def main() -> None:
            async with client_of(silent, connections_max=1) as (client, server):
                first = asyncio.ensure_future(client.request("POST", PATH, b"{}"))
                await asyncio.sleep(0.01)
                with pytest.raises(NotSentError, match=r"Client\.Timeout exceeded while awaiting headers"):
                    await client.request("POST", PATH, b"{}", timeout_s=0.02)
                await client.close()
                with pytest.raises(LostError):
                    await first
                assert server.connections == 1

        run(main())


class Tokens:
    """Credentials that have another token each time they are rejected."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.current = Credential(self._tokens.pop(0))
        self.fresh_until = float("inf")

    async def renew(self) -> None:
        raise AssertionError("never due")

    async def rejected(self, used: Credential) -> bool:
        if self.current == used and self._tokens:
            self.current = Credential(self._tokens.pop(0))
        return self.current != used


async def takes_only_new(connection: ServedConnection) -> None:
    while asked := await connection.request():
        is_new = asked.headers["authorization"] == "Bearer new"
        connection.send(reply(b"{}", "200 OK" if is_new else "401 Unauthorized"))


class TestCredentials:
    @pytest.mark.parametrize(
        ("tokens", "statuses"),
        [
            pytest.param(["Bearer old", "Bearer new"], [200, 200], id="refreshed at once"),
            pytest.param(["Bearer older", "Bearer old", "Bearer new"], [401, 200], id="asked again only once"),
            pytest.param(["Bearer old"], [401, 401], id="nothing else to try"),
        ],
    )
    def test_a_rejected_token(self, run: Run, tokens: list[str], statuses: list[int]) -> None:
        async def main() -> None:
            async with serving(takes_only_new) as server:
                client = HttpClient(Connection(address_of(server.url), Tokens(*tokens)))
                assert [(await client.request("POST", PATH, b"{}")).status for _ in statuses] == statuses
                await client.close()

        run(main())

    def test_many_rejected_at_once_refresh_once(self, run: Run) -> None:
        async def main() -> None:
            async with serving(takes_only_new) as server:
                client = HttpClient(Connection(address_of(server.url), Tokens("Bearer old", "Bearer new", "Bearer x")))
                answers = await asyncio.gather(*(client.request("POST", PATH, b"{}") for _ in range(5)))
                assert [answer.status for answer in answers] == [200] * 5
                await client.close()

        run(main())

    def test_a_stream_with_a_rejected_token(self, run: Run) -> None:
        async def main() -> None:
            async with serving(takes_only_new) as server:
                client = HttpClient(Connection(address_of(server.url), Tokens("Bearer old", "Bearer new")))
                async with client.stream(PATH) as stream:
                    assert stream.status == 200
                await client.close()

        run(main())

    def test_a_token_in_a_header(self, run: Run) -> None:
        async def main() -> None:
            async with serving(always_ok) as server:
                credentials = FixedCredentials(Credential("Bearer abc"))
                client = HttpClient(Connection(address_of(server.url), credentials))
                await client.request("GET", PATH)
                await client.close()
                assert server.asked[0].headers["authorization"] == "Bearer abc"

        run(main())
