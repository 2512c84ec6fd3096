"""The metrics API: what pods and nodes use."""

from __future__ import annotations

import pytest
from tests.support.api_server import PODS, Api, pod

from bayplan.apiserver.http.application import Application
from bayplan.config.releases import DEFAULT_RELEASE

METRICS = "/apis/metrics.k8s.io/v1beta1"


@pytest.fixture
def api() -> Api:
    made = Api()
    made.application = Application(
        made.registry, "secret", lambda: made.now, "127.0.0.1:8080", with_metrics=True, release=DEFAULT_RELEASE
    )
    for name in ("n1", "n2"):
        made.post("/api/v1/nodes", {"metadata": {"name": name}})
    for name, cpu in (("a", "250m"), ("b", "1")):
        wanted = pod(name, annotations={"bayplan/cpu-usage": cpu, "bayplan/memory-usage": "2Mi"}, labels={"app": name})
        wanted["spec"]["nodeName"] = "n1"
        made.post(PODS, wanted)
        made.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
    made.post(PODS, pod("waiting"))
    return made


def test_pods(api: Api) -> None:
    found = api.get(f"{METRICS}/namespaces/default/pods")
    assert (found["kind"], found["apiVersion"]) == ("PodMetricsList", "metrics.k8s.io/v1beta1")
    usages = {item["metadata"]["name"]: item["containers"] for item in found["items"]}
    assert usages == {
        "a": [{"name": "c", "usage": {"cpu": "250m", "memory": "2Mi"}}],
        "b": [{"name": "c", "usage": {"cpu": "1", "memory": "2Mi"}}],
    }
    assert len(api.get(f"{METRICS}/pods")["items"]) == 2
    assert len(api.get(f"{METRICS}/pods?labelSelector=app%3Da")["items"]) == 1
    assert api.get(f"{METRICS}/namespaces/other/pods")["items"] == []
    one = api.get(f"{METRICS}/namespaces/default/pods/a")
    assert (one["kind"], one["window"], one["timestamp"]) == ("PodMetrics", "30s", "2026-01-01T00:00:00Z")


def test_nodes(api: Api) -> None:
    usages = {item["metadata"]["name"]: item["usage"] for item in api.get(f"{METRICS}/nodes")["items"]}
    assert usages == {"n1": {"cpu": "1250m", "memory": "4Mi"}, "n2": {"cpu": "0", "memory": "0"}}
    assert api.get(f"{METRICS}/nodes/n1")["kind"] == "NodeMetrics"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "namespaces/default/pods/waiting", 404),
        ("GET", "nodes/none", 404),
        ("GET", "horses", 404),
        ("GET", "nodes/n1/more", 404),
        ("POST", "nodes", 405),
    ],
)
def test_what_is_refused(api: Api, method: str, path: str, status: int) -> None:
    assert api.call(method, f"{METRICS}/{path}", {} if method == "POST" else None)[0] == status


def test_discovery_tells_of_it(api: Api) -> None:
    groups = [group["name"] for group in api.get("/apis")["groups"]]
    assert groups[-1] == "metrics.k8s.io"
    assert [one["name"] for one in api.get(METRICS)["resources"]] == ["nodes", "pods"]
    assert "metrics.k8s.io" not in [group["name"] for group in Api().get("/apis")["groups"]]
