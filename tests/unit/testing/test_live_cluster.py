"""Clusters in threads: they start, answer, fail clearly and always stop."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bayplan.testing import LiveCluster, Refusal, cluster

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1}]}
"""


def fetched(url: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_deployment_becomes_available() -> None:
    with cluster() as k:
        k.apply(WEB)
        web = k.wait_until("deployment/web available")
        pods = k.list("pods", "default", "app=web")
    assert web["status"]["availableReplicas"] == 2
    assert {pod["kind"] for pod in pods} == {"Pod"}
    assert {pod["spec"]["nodeName"] for pod in pods} <= {"node-1", "node-2", "node-3"}


def test_requests_need_the_token() -> None:
    with cluster(nodes=0) as k:
        pods = f"{k.url}/api/v1/pods"
        assert fetched(pods) == 401
        assert fetched(pods, k.token) == 200
        assert f":{k.token}@" in k.kubeconfig.read_text()
        assert f"/token={k.token}\n" in k.kubeconfig.read_text()


def test_nothing_is_left_when_the_block_ends() -> None:
    threads = threading.active_count()
    with cluster(nodes=0) as k:
        assert threading.active_count() > threads
    assert threading.active_count() == threads
    assert not k.kubeconfig.parent.exists()
    with pytest.raises(urllib.error.URLError, match="refused"):
        fetched(k.url)
    with pytest.raises(RuntimeError, match="this cluster has stopped"):
        k.list("pods")


def test_a_cluster_stops_when_the_block_fails() -> None:
    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError), cluster(nodes=0):
        _ = 1 / 0
    assert threading.active_count() == threads


def test_a_cluster_stops_while_a_client_watches() -> None:
    with cluster(nodes=0) as k:
        request = urllib.request.Request(f"{k.url}/api/v1/namespaces?watch=1")
        request.add_header("Authorization", f"Bearer {k.token}")
        watch = urllib.request.urlopen(request)
        first = json.loads(watch.readline())
    assert first["type"] == "ADDED"
    with watch:
        watch.read()


def test_two_clusters_have_nothing_in_common() -> None:
    with cluster(nodes=1) as one, cluster(nodes=2) as other:
        one.apply(CONFIG_MAP)
        with pytest.raises(Refusal, match='configmaps "settings" not found'):
            other.get("configmap", "settings")
        assert (len(one.list("nodes")), len(other.list("nodes"))) == (1, 2)
        assert one.token != other.token


def test_without_a_scheduler_pods_wait() -> None:
    with cluster(scheduler=False) as k:
        k.apply(WEB)
        k.wait_until(lambda k: len(k.list("pods")) == 2)
        assert [pod["spec"].get("nodeName") for pod in k.list("pods")] == [None, None]


def test_without_controllers_nobody_makes_pods() -> None:
    with cluster(controllers=False) as k:
        (web,) = k.apply(WEB)
        assert "conditions" not in web.get("status", {})
        with pytest.raises(
            TimeoutError, match=r"'deployment/web available' did not hold within 0.1 s; seen last: 0 of 2"
        ):
            k.wait_until("deployment/web available", timeout=0.1)


def test_a_configuration_names_the_scheduler(tmp_path: Path) -> None:
    settings = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": scheduler},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "a", "image": "a"}]},
        }
        for scheduler in ("other", "mine")
    ]
    with cluster(config=settings) as k:
        k.apply(pods)
        k.wait_until("pod/mine running")
        assert k.get("pod", "other")["status"]["phase"] == "Pending"


def test_a_function_is_called_until_it_returns_something_true() -> None:
    def a_pod_without_a_name(k: LiveCluster) -> str:
        assert k.list("namespaces")
        return ""

    with cluster(nodes=0) as k:
        assert k.wait_until(lambda k: k.get("namespace", "default"))["kind"] == "Namespace"
        with pytest.raises(TimeoutError, match=r"a_pod_without_a_name did not hold within 0 s; it returned last: ''"):
            k.wait_until(a_pod_without_a_name, timeout=0)
        with pytest.raises(TimeoutError, match=r'it raised last: Refusal: NotFound: pods "web" not found'):
            k.wait_until(lambda k: k.get("pod", "web"), timeout=0.05)


def test_an_error_in_a_function_is_not_waited_for() -> None:
    with cluster(nodes=0) as k, pytest.raises(ZeroDivisionError):
        k.wait_until(lambda _: 1 / 0)


@pytest.mark.parametrize("speed", ["fast", "0x", "-1x", 0, "x"])
def test_a_speed_is_a_positive_number(speed: str | float) -> None:
    with pytest.raises(ValueError, match="is not a number of times"), cluster(speed=speed):
        pass
