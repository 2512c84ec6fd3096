"""What a server says about itself."""

from __future__ import annotations

import json

import pytest
from tests.support.api_server import DEFINITIONS, Api, toy_definition
from tests.unit.apiserver.housekeeping.stage import Stage

from bayplan.apiserver.housekeeping.definitions import DefinitionEnding


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
def test_a_server_that_answers_is_healthy(path: str) -> None:
    answer = Api().answer("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/healthz?verbose", "[+]ping ok\nhealthz check passed\n"),
        ("/readyz?verbose=true", "[+]ping ok\nreadyz check passed\n"),
        ("/livez?verbose&exclude=ping", "[+]ping excluded: ok\nlivez check passed\n"),
        (
            "/livez?verbose&exclude=etcd",
            '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "etcd"\nlivez check passed\n',
        ),
        ("/livez/ping", "ok"),
    ],
)
def test_checks_are_listed_on_request(path: str, text: str) -> None:
    assert Api().answer("GET", path).body.decode() == text


def test_an_unknown_check_is_not_found() -> None:
    assert Api().answer("GET", "/livez/etcd").status == 404


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
def test_discovery(path: str, kind: str) -> None:
    assert Api().get(path)["kind"] == kind


def test_what_is_not_served_is_not_found() -> None:
    api = Api()
    assert api.answer("GET", "/apis/example.com/v1").status == 404
    assert api.answer("GET", "/apis/apps/v9").status == 404
    assert api.answer("GET", "/nonsense").status == 404


@pytest.mark.parametrize("path", ["/apis", "/openapi/v3", "/openapi/v2", "/openapi/v3/api/v1"])
def test_an_answer_that_the_client_has_is_not_sent_again(path: str) -> None:
    api = Api()
    first = api.answer("GET", path)
    (etag,) = [value for name, value in first.headers if name == "etag"]
    again = api.answer("GET", path, if_none_match=etag)
    assert (again.status, again.body) == (304, b"")


def test_what_a_definition_adds_is_discovered_until_it_is_gone() -> None:
    stage = Stage([DefinitionEnding()])
    api = stage.api
    paths = ("/apis", "/openapi/v2", "/openapi/v3")
    before = [api.answer("GET", path).body for path in paths]
    api.post(DEFINITIONS, toy_definition())
    during = [api.answer("GET", path).body for path in paths]
    assert [b"example.com" in body for body in during] == [True] * 3
    assert api.get("/apis/example.com/v1")["resources"][0]["name"] == "toys"
    document = json.loads(api.answer("GET", "/openapi/v3/apis/example.com/v1").body)
    assert "com.example.v1.Toy" in document["components"]["schemas"]
    stage.delete(f"{DEFINITIONS}/toys.example.com")
    assert [b"example.com" in api.answer("GET", path).body for path in paths] == [False] * 3
    assert [b"example.com" in body for body in before] == [False] * 3
