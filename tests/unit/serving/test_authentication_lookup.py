"""Whose certificates count, as the cluster says."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.support.authorities import Authority

from bayplan.client.contract import NotSentError, Response, Stream
from bayplan.model.errors import InvalidObject
from bayplan.serving.authentication_lookup import AuthenticationLookup
from bayplan.serving.encryption import Encryption
from bayplan.serving.users import ProxyHeaders, Trust, User

CLIENTS, PROXIES, OTHERS = Authority("clients"), Authority("proxies"), Authority("others")
DATA = {
    "client-ca-file": CLIENTS.certificate.decode(),
    "requestheader-client-ca-file": PROXIES.certificate.decode(),
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}
HEADERS = [("x-remote-user", "bob")]


@dataclass
class Server:
    """Has the ConfigMap, or a reason why not."""

    answer: tuple[int, Any] | Exception
    asked: str = ""

    async def request(self, method: str, path: str, body: bytes = b"", **_: Any) -> Response:
        self.asked = f"{method} {path}"
        if isinstance(self.answer, Exception):
            raise self.answer
        status, document = self.answer
        return Response(status, json.dumps(document).encode(), {})

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("one object is not watched")


def looked_up(server: Server, trust: Trust | None = None, **more: Any) -> Trust:
    """After the first look."""
    trust = trust or Trust(Encryption(None))

    async def look() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(AuthenticationLookup(server, trust, **more).run(), 0.05)

    asyncio.run(look())
    return trust


def test_clients_and_proxies_are_those_of_the_cluster() -> None:
    server = Server((200, {"data": DATA}))
    trust = looked_up(server)
    assert server.asked == "GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    assert trust.user(CLIENTS.sign("alice").der, []) == User("alice", ("system:authenticated",))
    assert trust.user(PROXIES.sign("front-proxy-client").der, HEADERS) == User("bob", ("system:authenticated",))
    assert trust.user(PROXIES.sign("another").der, HEADERS) is None


def test_what_flags_say_is_not_looked_up() -> None:
    given = Trust(Encryption(None))
    given.believe_clients(OTHERS.certificate)
    given.believe_proxies(PROXIES.certificate, ProxyHeaders())
    trust = looked_up(Server((200, {"data": DATA})), given, wants_clients=False, wants_proxies=False)
    assert trust.user(CLIENTS.sign("alice").der, []) is None
    assert trust.user(OTHERS.sign("alice").der, []) == User("alice", ("system:authenticated",))
    assert trust.user(PROXIES.sign("another").der, HEADERS) == User("bob", ("system:authenticated",))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((403, {"message": "forbidden"}), "Usually fixed by 'kubectl create rolebinding -n kube-system"),
        ((404, {"message": "not found"}), "not found (404)"),
        (NotSentError("connection refused"), "connection refused"),
        ((200, {"data": {"client-ca-file": "nothing"}}), "cannot be used: "),
    ],
)
def test_what_is_missing_is_said_and_it_goes_on_unless_that_is_not_tolerated(answer: Any, says: str) -> None:
    with capture_logs() as log:
        looked_up(Server(answer))
    assert says in log[0]["event"]
    assert log[1]["event"].startswith("Continuing without authentication configuration.")
    with pytest.raises(InvalidObject, match="configmap extension-apiserver-authentication"):
        looked_up(Server(answer), tolerates_failure=False)
