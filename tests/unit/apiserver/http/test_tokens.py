"""Tokens for service accounts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def with_account() -> Api:
    api = Api()
    api.post(ACCOUNTS, {"metadata": {"name": "bot"}})
    return api


def test_a_service_account_gets_the_token_of_the_cluster() -> None:
    answer = with_account().post(f"{ACCOUNTS}/bot/token", {"spec": {}})
    assert answer["status"] == {"token": "secret", "expirationTimestamp": "2026-01-01T01:00:00Z"}
    assert answer["spec"]["audiences"] == ["https://kubernetes.default.svc.cluster.local"]


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
