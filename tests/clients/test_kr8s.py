"""kr8s: objects that know their API."""

from __future__ import annotations

import time
from typing import Any

import httpx_ws
import kr8s
import pytest
from kr8s.objects import ConfigMap, Deployment, Node, Pod, new_class
from tests.clients.manifests import SHIPS, WEB, pod, ship

from bayplan.testing import LiveCluster

# It says so of every release that is newer than itself.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning")


@pytest.fixture(scope="module")
def api(k: LiveCluster) -> Any:
    return kr8s.api(kubeconfig=str(k.kubeconfig))


def test_nodes_are_listed_and_cordoned(api: Any) -> None:
    assert [node.name for node in api.get("nodes")] == ["node-1", "node-2", "node-3"]
    node = Node.get("node-1", api=api)
    node.cordon()
    assert node.unschedulable
    node.uncordon()
    assert not node.unschedulable


def test_a_pod_from_creation_to_deletion(api: Any) -> None:
    made = Pod(pod("typed"), api=api)
    made.create()
    made.wait("condition=Ready", timeout=10)
    assert made.ready()
    made.label(tier="front")
    made.patch({"metadata": {"annotations": {"a": "1"}}})
    made.patch([{"op": "add", "path": "/metadata/annotations/b", "value": "2"}], type="json")
    made.refresh()
    assert (made.labels["tier"], made.annotations) == ("front", {"a": "1", "b": "2"})
    made.delete()
    made.wait("delete", timeout=10)
    assert not made.exists()
    with pytest.raises(kr8s.NotFoundError):
        made.refresh()


def test_a_watch(api: Any) -> None:
    settings = ConfigMap({"metadata": {"name": "watched", "labels": {"watched": "yes"}}, "data": {"a": "1"}}, api=api)
    settings.create()
    seen = []
    for event, found in api.watch("configmaps", label_selector="watched=yes"):
        seen.append((event, found.data.a))
        if event == "ADDED":
            settings.patch({"data": {"a": "2"}})
        elif event == "MODIFIED":
            settings.delete()
        else:
            break
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_deployment_is_scaled(api: Any) -> None:
    web = Deployment(WEB, api=api)
    web.create()
    web.wait("condition=Available", timeout=10)
    web.scale(3)
    ends_at = time.monotonic() + 10
    while not web.ready():
        assert time.monotonic() < ends_at
        time.sleep(0.01)
    assert len(web.pods()) == 3


def test_custom_resources(k: LiveCluster, api: Any) -> None:
    k.apply(SHIPS)
    kind = new_class("Ship", "sea.example/v1", namespaced=True)
    anna = kind(ship("anna", 3), api=api)
    anna.create()
    anna.patch({"status": {"loaded": True}}, subresource="status")
    assert [(found.spec.bays, found.status.loaded) for found in api.get("ships.sea.example")] == [(3, True)]
    with pytest.raises(kr8s.ServerError, match="should be greater than or equal to 1"):
        kind(ship("none", 0), api=api).create()


def test_what_needs_a_container_says_so(api: Any) -> None:
    made = Pod(pod("empty"), api=api)
    made.create()
    made.wait("condition=Ready", timeout=10)
    assert "simulated" in "".join(made.logs())
    with pytest.raises(httpx_ws.WebSocketUpgradeError, match="501 Not Implemented"):
        made.exec(["ls"])
