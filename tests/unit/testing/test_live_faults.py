"""Faults of one user's requests."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.testing import ClusterUser, LiveCluster, Refusal, cluster

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


def ask(user: ClusterUser, path: str = MAPS, name: str = "", patch: str = "") -> int:
    """The status of a request: of a list, of the creation of a config map, or of a merge patch."""
    body = json.dumps({"metadata": {"name": name}}).encode() if name else patch.encode() or None
    content_type = "application/merge-patch+json" if patch else "application/json"
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": content_type}
    request = urllib.request.Request(user.url + path, body, headers, method="PATCH" if patch else None)
    try:
        with urllib.request.urlopen(request) as answer:
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


@pytest.mark.parametrize("name", ["configmaps", "ConfigMap", "configmap", "cm"])
def test_a_resource_has_the_names_that_kubectl_knows(user: ClusterUser, name: str) -> None:
    user.faults.refuse(500, resource=name)
    assert (ask(user, "/api/v1/nodes"), ask(user)) == (200, 500)


def test_a_resource_of_another_group_is_another_one(user: ClusterUser) -> None:
    user.faults.refuse(500, resource="events.events.k8s.io")
    assert (ask(user, "/api/v1/events"), ask(user, "/apis/events.k8s.io/v1/events")) == (200, 500)


def test_a_subresource_alone(user: ClusterUser) -> None:
    ask(user, "/api/v1/namespaces", name="sub")
    user.faults.refuse(409, verb="patch", resource="namespaces/status")
    path = "/api/v1/namespaces/sub"
    assert ask(user, path, patch='{"metadata": {"labels": {"a": "b"}}}') == 200
    assert ask(user, f"{path}/status", patch='{"metadata": {"labels": {"a": "c"}}}') == 409


def test_watches_of_old_paths_are_watches(user: ClusterUser) -> None:
    user.faults.refuse(500, verb="watch")
    assert ask(user, "/api/v1/watch/nodes?timeoutSeconds=1") == 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"code": 200}, "code: 200 refuses nothing; 400 to 599 do"),
        ({"times": 0}, "times: 0 is not once or more"),
        ({"verb": "put"}, "verb: 'put' is none of get, list, watch, create, update, patch, delete"),
        ({"resource": "configmaps/status"}, "resource: configmaps have no 'status'"),
    ],
)
def test_what_would_never_happen_is_an_error(user: ClusterUser, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        user.faults.refuse(**{"code": 500, **arguments})


def test_a_resource_that_is_not_served_is_an_error(user: ClusterUser) -> None:
    with pytest.raises(Refusal, match="the server doesn't have a resource type for ships"):
        user.faults.drop(resource="ships")


def test_no_watch_is_faster_than_time(user: ClusterUser) -> None:
    with pytest.raises(ValueError, match="seconds: -1 is less than none"):
        user.faults.slow_watches(-1)
