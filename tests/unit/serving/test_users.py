"""Whom certificates stand for, and which headers are believed."""

from __future__ import annotations

import pytest
from tests.support.authorities import Authority

from bayplan.serving.encryption import Encryption
from bayplan.serving.users import Headers, ProxyHeaders, Trust, User

CLIENTS, PROXIES, OTHERS = Authority("clients"), Authority("proxies"), Authority("others")
ALICE = CLIENTS.sign("alice", groups=("dev", "ops")).der
PROXY = PROXIES.sign("front-proxy-client").der
FOR_BOB = [("x-remote-user", "bob"), ("x-remote-group", "a"), ("x-remote-group", "b"), ("accept", "*/*")]
BOB = User("bob", ("a", "b", "system:authenticated"))


def trust(headers: ProxyHeaders | None = None) -> Trust:
    made = Trust(Encryption(None))
    made.believe_clients(CLIENTS.certificate)
    if headers is not None:
        made.believe_proxies(PROXIES.certificate, headers)
    return made


def test_a_certificate_names_user_and_groups() -> None:
    assert trust().user(ALICE, []) == User("alice", ("dev", "ops", "system:authenticated"))


@pytest.mark.parametrize(
    ("certificate", "headers", "user"),
    [
        (PROXY, FOR_BOB, BOB),
        (PROXY, [], None),  # a proxy is no user itself
        (PROXY, [("x-remote-user", "")], None),
        (ALICE, FOR_BOB, User("alice", ("dev", "ops", "system:authenticated"))),  # who speaks for nobody else
        (OTHERS.sign("front-proxy-client").der, FOR_BOB, None),
        (OTHERS.sign("alice").der, [], None),
    ],
)
def test_only_proxies_are_believed_what_headers_say(certificate: bytes, headers: Headers, user: User | None) -> None:
    assert trust(ProxyHeaders()).user(certificate, headers) == user


@pytest.mark.parametrize(
    ("allowed", "user"), [((), BOB), (("front-proxy-client",), BOB), (("another", "aggregator"), None)]
)
def test_proxies_may_be_named(allowed: tuple[str, ...], user: User | None) -> None:
    assert trust(ProxyHeaders(allowed_names=allowed)).user(PROXY, FOR_BOB) == user


def test_which_headers_count_can_be_chosen() -> None:
    names = ProxyHeaders(
        users=("X-User", "X-Other"), groups=("X-Group",), uids=("X-Uid",), extra_prefixes=("X-Extra-",)
    )
    headers = [
        ("x-other", "second"),
        ("x-remote-user", "nobody"),
        ("x-group", "g"),
        ("x-uid", "u1"),
        ("x-extra-scopes%2fa", "one"),
        ("x-extra-scopes%2fa", "two"),
    ]
    user = User("second", ("g", "system:authenticated"), "u1", {"scopes/a": ["one", "two"]})
    assert trust(names).user(PROXY, headers) == user


def test_other_authorities_take_the_place_of_those_before() -> None:
    made = trust(ProxyHeaders())
    made.believe_clients(OTHERS.certificate)
    assert made.user(ALICE, []) is None
    assert made.user(OTHERS.sign("carol").der, []) == User("carol", ("system:authenticated",))


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="PEM"):
        trust().believe_clients(b"nothing")
