"""Faults of one user's requests."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from bayplan.testing import ClusterUser, LiveCluster, cluster

MAPS = "/api/v1/namespaces/test/configmaps"


@pytest.fixture(scope="module")
def shared() -> Iterator[LiveCluster]:
    with cluster(nodes=0, controllers=False, scheduler=False) as running:
        yield running


@pytest.fixture
def user(shared: LiveCluster) -> Iterator[ClusterUser]:
    made = shared.user("tester", "test")
    yield made
    made.faults.clear()


def ask(user: ClusterUser, path: str = MAPS, name: str = "") -> int:
    """The status of a request: of a list, or of the creation of a config map."""
    body = json.dumps({"metadata": {"name": name}}).encode() if name else None
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(user.url + path, body, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("code", [409, 429, 500, 503])
def test_refusals(user: ClusterUser, code: int) -> None:
    user.faults.refuse(code, times=2)
    assert [ask(user), ask(user), ask(user)] == [code, code, 200]


def test_a_refusal_is_a_status_with_a_time_to_wait(user: ClusterUser) -> None:
    user.faults.refuse(429)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(
            urllib.request.Request(user.url + MAPS, headers={"Authorization": f"Bearer {user.token}"})
        )
    with caught.value as error:
        assert error.headers["retry-after"] == "1"
        assert json.load(error)["reason"] == "TooManyRequests"


def test_only_what_fits_goes_wrong(shared: LiveCluster, user: ClusterUser) -> None:
    user.faults.refuse(500, verb="create", resource="configmaps")
    other = shared.user("other", "test")
    assert (ask(user), ask(user, "/api/v1/nodes"), ask(other, name="by-other")) == (200, 200, 201)
    assert (ask(user, name="first"), ask(user, name="second")) == (500, 201)


def test_a_dropped_connection_does_nothing_and_a_lost_answer_is_a_write(shared: LiveCluster, user: ClusterUser) -> None:
    lost = (http.client.RemoteDisconnected, ConnectionResetError)
    user.faults.drop(verb="create")
    with pytest.raises(lost):
        ask(user, name="dropped")
    user.faults.lose_answers(verb="create")
    with pytest.raises(lost):
        ask(user, name="lost")
    names = [item["metadata"]["name"] for item in shared.list("configmaps", "test")]
    assert ("dropped" in names, "lost" in names) == (False, True)


def test_a_slow_watch(user: ClusterUser) -> None:
    ask(user, name="seen")
    user.faults.slow_watches(0.2)
    started = time.monotonic()
    request = urllib.request.Request(
        f"{user.url}{MAPS}?watch=1&timeoutSeconds=5", headers={"Authorization": f"Bearer {user.token}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert json.loads(answer.readline())["type"] == "ADDED"
    assert time.monotonic() - started >= 0.2
