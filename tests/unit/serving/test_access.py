"""Who is let in on the secure port, and whom the API server is asked about."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.support.authorities import Authority

from bayplan.client.contract import NotSentError, Response, Stream
from bayplan.model.media_types import JSON
from bayplan.serving.access import AccessControl, Memory
from bayplan.serving.encryption import Encryption
from bayplan.serving.users import Trust
from bayplan.store.errors import ApiError

TOKENS, ACCESS = "/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ALICE = {"username": "alice", "uid": "u1", "groups": ["dev", "system:authenticated"], "extra": {"a": ["b"]}}


@dataclass
class Reviewer:
    """An API server that knows one token, and one who may see metrics."""

    token: str = "good"
    user: dict[str, Any] = field(default_factory=lambda: ALICE)
    allowed: frozenset[tuple[str, str]] = frozenset({("alice", "/metrics")})
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    is_down: bool = False
    asked: list[tuple[str, Any]] = field(default_factory=list)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_s: float | None = None,
        agent: str = "scheduler",
    ) -> Response:
        review = json.loads(body)
        self.asked.append((path, review))
        if self.is_down:
            raise NotSentError("connection refused")
        if path in self.refusals:
            status, message = self.refusals[path]
            return Response(status, json.dumps({"kind": "Status", "message": message}).encode(), {})
        spec = review["spec"]
        if path == TOKENS:
            known = spec["token"] == self.token
            status_of: dict[str, Any] = {"authenticated": True, "user": self.user} if known else {"user": {}}
        else:
            status_of = {"allowed": (spec["user"], spec["nonResourceAttributes"]["path"]) in self.allowed}
        return Response(201, json.dumps({**review, "status": status_of}).encode(), {})

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("reviews are not watched")


def verdict(access: AccessControl, path: str, token: str = "", certificate: bytes | None = None) -> tuple[int, str]:
    """Code and message; 200 if let in."""
    headers = [("authorization", f"Bearer {token}")] if token else []
    try:
        asyncio.run(access.admit("get", path, headers, certificate))
    except ApiError as error:
        return error.code, error.message
    return 200, ""


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
def test_health_is_for_everybody_and_nobody_is_asked(path: str) -> None:
    reviewer = Reviewer(is_down=True)
    assert verdict(AccessControl(reviewer), path) == (200, "")
    assert verdict(AccessControl(reviewer), path, token="bad") == (200, "")
    assert reviewer.asked == []


@pytest.mark.parametrize(
    ("path", "token", "expected"),
    [
        ("/metrics", "good", (200, "")),
        ("/metrics", "bad", (401, "Unauthorized")),
        ("/configz", "good", (403, 'forbidden: User "alice" cannot get path "/configz"')),
        ("/metrics", "", (403, 'forbidden: User "system:anonymous" cannot get path "/metrics"')),
        ("/healthz/ping", "", (403, 'forbidden: User "system:anonymous" cannot get path "/healthz/ping"')),
    ],
)
def test_all_else_needs_a_permission(path: str, token: str, expected: tuple[int, str]) -> None:
    assert verdict(AccessControl(Reviewer()), path, token) == expected


def test_the_bodies_of_the_reviews() -> None:
    reviewer = Reviewer()
    verdict(AccessControl(reviewer), "/metrics", "good")
    assert reviewer.asked == [
        (
            TOKENS,
            {
                "kind": "TokenReview",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {},
                "spec": {"token": "good"},
            },
        ),
        (
            ACCESS,
            {
                "kind": "SubjectAccessReview",
                "apiVersion": "authorization.k8s.io/v1",
                "metadata": {},
                "spec": {
                    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
                    "user": "alice",
                    "groups": ["dev", "system:authenticated"],
                    "uid": "u1",
                    "extra": {"a": ["b"]},
                },
            },
        ),
    ]


def test_answers_hold_for_ten_seconds() -> None:
    now = 100.0
    reviewer = Reviewer()
    access = AccessControl(reviewer, clock=lambda: now)
    for now in (100.0, 109.9):  # noqa: B007 - the clock reads it
        assert verdict(access, "/metrics", "good") == (200, "")
    assert len(reviewer.asked) == 2
    now = 110.1
    reviewer.token = "another"
    assert verdict(access, "/metrics", "good") == (401, "Unauthorized")


def test_masters_may_see_everything() -> None:
    reviewer = Reviewer(user={"username": "root", "groups": ["system:masters"]})
    assert verdict(AccessControl(reviewer), "/configz", "good") == (200, "")
    assert [path for path, _ in reviewer.asked] == [TOKENS]


def test_paths_that_end_in_a_star_allow_whatever_begins_so() -> None:
    access = AccessControl(Reviewer(), ["/healthz", "/debug/*"])
    assert verdict(access, "/debug/queue") == (200, "")
    assert verdict(access, "/debu")[0] == 403
    assert verdict(access, "/livez")[0] == 403


@pytest.mark.parametrize(
    ("path", "status", "message", "token", "expected", "named"),
    [
        (TOKENS, 404, "the server could not find the requested resource", "good", 401, "TokenReview"),
        (TOKENS, 403, 'cannot create resource "tokenreviews"', "good", 401, "tokenreviews"),
        (ACCESS, 404, "the server could not find the requested resource", "", 403, "SubjectAccessReview"),
        (ACCESS, 403, 'cannot create resource "subjectaccessreviews"', "", 403, "subjectaccessreviews"),
    ],
)
def test_a_review_that_cannot_be_used_is_named_once_and_only_open_paths_are_served(
    path: str, status: int, message: str, token: str, expected: int, named: str
) -> None:
    access = AccessControl(Reviewer(refusals={path: (status, message)}))
    with capture_logs() as logs:
        assert [verdict(access, "/metrics", token)[0] for _ in range(2)] == [expected, expected]
        assert verdict(access, "/healthz") == (200, "")
    assert len(logs) == 1
    assert named in f"{logs[0]}"
    assert logs[0]["log_level"] == "error"


def test_while_the_api_server_is_away_tokens_are_worth_nothing() -> None:
    with capture_logs() as logs:
        assert verdict(AccessControl(Reviewer(is_down=True)), "/metrics", "good") == (401, "Unauthorized")
        code, message = verdict(AccessControl(Reviewer(is_down=True)), "/metrics")
    assert (code, message) == (500, "Internal Server Error: connection refused")
    assert [entry["err"] for entry in logs] == ["connection refused"] * 2


def test_without_an_api_server_to_ask_only_open_paths_are_served() -> None:
    assert verdict(AccessControl(None), "/livez") == (200, "")
    assert verdict(AccessControl(None), "/metrics")[0] == 403


def test_a_client_certificate_is_enough_to_be_somebody() -> None:
    authority, reviewer = Authority(), Reviewer()
    trust = Trust(Encryption(None))
    trust.believe_clients(authority.certificate)
    access = AccessControl(reviewer, trust=trust)
    certificate = authority.sign("alice").der
    assert verdict(access, "/metrics", certificate=certificate) == (200, "")
    assert [path for path, _ in reviewer.asked] == [ACCESS]


def test_a_certificate_of_nobody_who_is_known_is_not_anonymous() -> None:
    certificate = Authority().sign("alice").der
    assert verdict(AccessControl(Reviewer()), "/metrics", certificate=certificate) == (401, "Unauthorized")
    assert verdict(AccessControl(Reviewer()), "/metrics", "good", certificate) == (200, "")


def test_answers_hold_as_long_as_flags_say() -> None:
    now = 0.0
    reviewer = Reviewer(allowed=frozenset())
    access = AccessControl(reviewer, memory=Memory(token_s=5, authorized_s=99, unauthorized_s=1), clock=lambda: now)
    asked = []
    for now in (0.0, 0.9, 1.1, 5.1):  # noqa: B007 - the clock reads it
        verdict(access, "/metrics", "good")
        asked.append(len(reviewer.asked))
    assert asked == [2, 2, 3, 5]
