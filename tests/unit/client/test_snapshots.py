"""A cluster read once: all pages of all kinds, of one version, and what is reported where that cannot be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bayplan.client.contract import LostError, Response
from bayplan.client.paths import list_path
from bayplan.client.snapshots import ListedPages, read_snapshot
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import KINDS
from bayplan.model.media_types import JSON

PODS, NODES, NAMESPACES = "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces"
Answer = Callable[[str, dict[str, str]], tuple[int, Any]]


class Server:
    """Answers lists: two pages of pods, and one page of everything else, of the version that is asked for."""

    def __init__(self, **refusals: tuple[int, str]) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.refusals = refusals  # by the last part of the path
        self.version = 100
        self.expires = 0  # so many versions more are gone when they are asked for

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_s: float | None = None,
        agent: str = "",
    ) -> Response:
        assert method == "GET"
        url = urlsplit(path)
        if path == "/version":
            return Response(200, b'{"gitVersion":"v1.36.4"}', {})
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.asked.append((url.path, query))
        await asyncio.sleep(0)
        status, document = self.answer(url.path, query)
        return Response(status, json.dumps(document).encode(), {})

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        if query["limit"] == "1":
            self.version += 1
            self.expires -= 1
        elif self.expires >= 0 and "resourceVersion" in query:
            return 410, {"message": "too old"}
        if (refusal := self.refusals.get(path.rpartition("/")[2])) is not None:
            return refusal[0], {"message": refusal[1]}
        is_first = path == PODS and "continue" not in query
        metadata = {"resourceVersion": str(self.version), **({"continue": "a b/c"} if is_first else {})}
        return 200, {"kind": "List", "metadata": metadata, "items": []}

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> Any:
        raise AssertionError("nothing is watched")


def snapshot_of(server: Server) -> ListedPages:
    return asyncio.run(read_snapshot(server))


def test_all_pages_of_all_kinds_of_one_version() -> None:
    server = Server()
    found = snapshot_of(server)
    assert [path for path, _ in found.pages] == [PODS, *(list_path(info) for info in KINDS.values())]
    lists = server.asked[1:]
    exact = {"limit": "500", "resourceVersion": "101", "resourceVersionMatch": "Exact"}
    assert [query for _, query in lists if "continue" not in query] == [exact] * len(KINDS)
    assert [asked for asked in lists if "continue" in asked[1]] == [(PODS, {"limit": "500", "continue": "a b/c"})]
    assert found.notes == []


def test_secrets_and_config_maps_are_never_asked_for() -> None:
    server = Server()
    snapshot_of(server)
    assert {path.rpartition("/")[2] for path, _ in server.asked}.isdisjoint({"secrets", "configmaps"})


def test_a_version_that_expires_is_followed_by_a_newer_one() -> None:
    server = Server()
    server.expires = 1
    found = snapshot_of(server)
    assert {query["resourceVersion"] for _, query in server.asked if "resourceVersion" in query} == {"101", "102"}
    assert (len(found.pages), found.notes) == (len(KINDS) + 1, [])


def test_a_cluster_that_changes_too_fast_is_read_as_it_comes() -> None:
    server = Server()
    server.expires = 10
    found = snapshot_of(server)
    assert len(found.pages) == len(KINDS) + 1
    assert found.notes == ["the cluster changed while it was read: kinds may be of slightly different times"]


@pytest.mark.parametrize(
    ("refusals", "notes"),
    [
        pytest.param(
            {"resourceslices": (404, "")}, ["the server has no ResourceSlice (resource.k8s.io/v1)"], id="not there"
        ),
        pytest.param({"devicetaintrules": (404, "")}, [], id="not there, and not expected"),
        pytest.param(
            {"services": (403, "services is forbidden")},
            ["cannot list Service (v1): services is forbidden; answers may be wrong without them"],
            id="not allowed",
        ),
    ],
)
def test_a_kind_that_is_missing_is_reported_and_the_rest_goes_on(
    refusals: dict[str, tuple[int, str]], notes: list[str]
) -> None:
    found = snapshot_of(Server(**refusals))
    assert found.notes == notes
    assert len(found.pages) == len(KINDS)


@pytest.mark.parametrize(
    ("refusals", "text"),
    [
        ({"pods": (403, "pods is forbidden")}, r"^cannot list Pod \(v1\): pods is forbidden$"),
        ({"nodes": (404, "")}, r"^cannot list Node \(v1\): status 404$"),
        ({"services": (500, "broken")}, r"^cannot list Service \(v1\): broken$"),
    ],
)
def test_what_cannot_do_without(refusals: dict[str, tuple[int, str]], text: str) -> None:
    with pytest.raises(InvalidObject, match=text):
        snapshot_of(Server(**refusals))


def test_a_server_that_does_not_answer() -> None:
    class Silent(Server):
        def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
            raise LostError('Get "http://x": EOF')

    with pytest.raises(InvalidObject, match=r'^Get "http://x": EOF$'):
        snapshot_of(Silent())


def test_who_may_not_list_namespaces_reads_the_others() -> None:
    found = snapshot_of(Server(namespaces=(403, "no")))
    assert len(found.pages) == len(KINDS)
    assert found.notes == ["cannot list Namespace (v1): no; answers may be wrong without them"]


def test_the_version_is_what_the_server_says() -> None:
    assert snapshot_of(Server()).server_version == "v1.36.4"


def test_a_kind_that_became_stable_is_read_as_such() -> None:
    class Newer(Server):
        def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
            return (404, {}) if "/v1beta2/" in path else super().answer(path, query)

    server = Newer()
    assert snapshot_of(server).is_whole
    assert "/apis/resource.k8s.io/v1/devicetaintrules" in [path for path, _ in server.asked]
