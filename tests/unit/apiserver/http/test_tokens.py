"""Tokens for service accounts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api, Document

from bayplan.apiserver.http.application import request_of
from bayplan.apiserver.registry.users import ADMIN
from bayplan.model.time_units import SECOND
from bayplan.store.errors import Unauthorized

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
AUDIENCE = "https://kubernetes.default.svc.cluster.local"


def with_account() -> Api:
    api = Api()
    api.post(ACCOUNTS, {"metadata": {"name": "bot"}})
    return api


def token_of(api: Api, **spec: Any) -> str:
    token: str = api.post(f"{ACCOUNTS}/bot/token", {"spec": spec})["status"]["token"]
    return token


def review(api: Api, token: str, **spec: Any) -> Document:
    status: Document = api.post(REVIEWS, {"spec": {"token": token, **spec}})["status"]
    return status


def test_a_service_account_gets_a_token_of_its_own() -> None:
    api = with_account()
    answer = api.post(f"{ACCOUNTS}/bot/token", {"spec": {}})
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    assert answer["spec"]["audiences"] == [AUDIENCE]
    status = review(api, answer["status"]["token"])
    assert (status["authenticated"], status["audiences"]) == (True, [AUDIENCE])
    user = status["user"]
    assert user["username"] == "system:serviceaccount:default:bot"
    assert user["uid"] == api.get(f"{ACCOUNTS}/bot")["metadata"]["uid"]
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]


def test_the_administrators_token_is_known() -> None:
    status = review(with_account(), "secret")
    assert (status["authenticated"], status["user"]["username"]) == (True, "admin")


def test_tokens_that_nobody_bears() -> None:
    api = with_account()
    token = token_of(api)
    header, claims, signature = token.split(".")
    forged = f"{header}.{claims[:-2]}AA.{signature}"
    for wrong in ("other", "a.b", "a.b.c", forged, f"{token}x"):
        assert review(api, wrong) == {"user": {}, "error": "invalid bearer token"}
    assert "authenticated" not in review(api, token_of(api, audiences=["vault"]))
    assert review(api, token_of(api, audiences=["vault"]), audiences=["vault"])["authenticated"]


def test_a_token_ends_with_its_time_and_with_its_account() -> None:
    api = with_account()
    token = token_of(api)
    api.delete(f"{ACCOUNTS}/bot")
    api.post(ACCOUNTS, {"metadata": {"name": "bot"}})
    assert "authenticated" not in review(api, token)
    token = token_of(api)
    assert review(api, token)["authenticated"]
    api.now += 3600 * SECOND
    assert "authenticated" not in review(api, token)


def test_whoever_asks_is_known_by_the_token() -> None:
    api = with_account()
    request = request_of(scope_of({"authorization": f"Bearer {token_of(api)}"}))
    assert api.application.admitted(request).user.name == "system:serviceaccount:default:bot"
    request = request_of(scope_of({"authorization": "Bearer secret"}))
    assert api.application.admitted(request).user == ADMIN
    with pytest.raises(Unauthorized):
        api.application.admitted(request_of(scope_of({"authorization": "Bearer x.y.z"})))


def scope_of(headers: dict[str, str]) -> Document:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"method": "GET", "path": "/api", "query_string": b"", "headers": sent}


def test_audience_and_duration_are_as_asked_for() -> None:
    asked = {"audiences": ["vault"], "expirationSeconds": 600}
    answer = with_account().post(f"{ACCOUNTS}/bot/token", {"spec": asked})
    assert answer["spec"] == {**asked, "boundObjectRef": None}
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"


@pytest.mark.parametrize(
    ("name", "spec", "refusal"),
    [
        ("nobody", {}, (404, 'serviceaccounts "nobody" not found')),
        (
            "bot",
            {"expirationSeconds": 599},
            (
                422,
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
                "may not specify a duration less than 10 minutes",
            ),
        ),
    ],
)
def test_what_gets_no_token(name: str, spec: dict[str, Any], refusal: tuple[int, str]) -> None:
    assert with_account().refusal("POST", f"{ACCOUNTS}/{name}/token", {"spec": spec}) == refusal
