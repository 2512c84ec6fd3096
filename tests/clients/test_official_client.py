"""The official client: typed, dynamic, its watches and its streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.stream import stream
from kubernetes.utils import create_from_dict
from tests.clients.manifests import SHIPS, WEB, pod, ship

from bayplan.testing import LiveCluster

# It leaves connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def api(k: LiveCluster) -> Any:
    settings = client.Configuration()
    config.load_kube_config(config_file=str(k.kubeconfig), client_configuration=settings)
    with client.ApiClient(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def test_a_token_in_a_header_is_enough(k: LiveCluster) -> None:
    settings = client.Configuration(host=k.url)
    settings.api_key = {"authorization": f"Bearer {k.token}"}
    with client.ApiClient(settings) as opened:
        assert len(client.CoreV1Api(opened).list_node().items) == 3


def test_a_pod_from_creation_to_deletion(core: Any) -> None:
    spec = client.V1PodSpec(containers=[client.V1Container(name="a", image="a:1")])
    made = core.create_namespaced_pod(
        "default", client.V1Pod(metadata=client.V1ObjectMeta(name="typed", labels={"run": "typed"}), spec=spec)
    )
    assert made.status.phase == "Pending"
    phases = []
    watching = watch.Watch()
    for event in watching.stream(core.list_namespaced_pod, "default", label_selector="run=typed", timeout_seconds=10):
        phases.append((event["type"], event["object"].status.phase))
        if event["object"].status.phase == "Running" and not event["object"].metadata.deletion_timestamp:
            core.delete_namespaced_pod("typed", "default")
        if event["type"] == "DELETED":
            watching.stop()
    assert phases[0][0] == "ADDED"
    assert phases[-1][0] == "DELETED"
    assert "Running" in [phase for _, phase in phases]
    with pytest.raises(ApiException) as refusal:
        core.read_namespaced_pod("typed", "default")
    assert (refusal.value.status, json.loads(refusal.value.body)["reason"]) == (404, "NotFound")


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        ("application/json-patch+json", [{"op": "replace", "path": "/data/a", "value": "2"}]),
        ("application/merge-patch+json", {"data": {"a": "2"}}),
        ("application/strategic-merge-patch+json", {"data": {"a": "2"}}),
    ],
)
def test_patches(core: Any, media: str, patch: Any) -> None:
    name = media.partition("/")[2].partition("+")[0]
    core.create_namespaced_config_map("default", {"metadata": {"name": name}, "data": {"a": "1", "b": "1"}})
    changed = core.patch_namespaced_config_map(name, "default", patch, _content_type=media)
    assert changed.data == {"a": "2", "b": "1"}


def test_server_side_apply_with_a_conflict(core: Any) -> None:
    def apply(value: str, manager: str, **options: bool) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, "data": {"a": value}}
        return core.patch_namespaced_config_map(
            "owned", "default", body, _content_type="application/apply-patch+yaml", field_manager=manager, **options
        )

    assert apply("1", "first").metadata.managed_fields[0].operation == "Apply"
    with pytest.raises(ApiException) as refusal:
        apply("2", "second")
    assert refusal.value.status == 409
    assert 'conflict with "first": .data.a' in json.loads(refusal.value.body)["message"]
    assert apply("2", "second", force=True).data == {"a": "2"}


def test_an_update_of_an_old_version_is_a_conflict(core: Any) -> None:
    old = core.create_namespaced_config_map("default", {"metadata": {"name": "versions"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("versions", "default", {"data": {"a": "2"}})
    old.data = {"a": "3"}
    with pytest.raises(ApiException) as refusal:
        core.replace_namespaced_config_map("versions", "default", old)
    assert (refusal.value.status, refusal.value.reason) == (409, "Conflict")


def test_a_deployment_is_scaled(k: LiveCluster, api: Any) -> None:
    create_from_dict(api, WEB)
    k.wait_until("deployment/web available")
    apps = client.AppsV1Api(api)
    apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 3}})
    k.wait_until(lambda k: k.get("deployment", "web")["status"].get("readyReplicas") == 3)
    assert apps.read_namespaced_deployment_scale("web", "default").status.replicas == 3


def test_pages_of_a_list(core: Any) -> None:
    for number in range(5):
        core.create_namespaced_secret("default", {"metadata": {"name": f"page-{number}", "labels": {"paged": "yes"}}})
    names, token = [], ""
    while True:
        page = core.list_namespaced_secret("default", label_selector="paged=yes", limit=2, _continue=token)
        names += [secret.metadata.name for secret in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"page-{number}" for number in range(5)]


def test_what_needs_a_container_says_so(k: LiveCluster, core: Any, caplog: pytest.LogCaptureFixture) -> None:
    k.apply(pod("empty"))
    k.wait_until("pod/empty running")
    assert "simulated" in core.read_namespaced_pod_log("empty", "default")
    with pytest.raises(ApiException, match="exec is not in this cluster"):
        stream(core.connect_get_namespaced_pod_exec, "empty", "default", command=["ls"], stdout=True)
    assert [record.message for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_custom_resources_with_the_dynamic_client(k: LiveCluster, api: Any) -> None:
    k.apply(SHIPS)
    ships = DynamicClient(api).resources.get(api_version="sea.example/v1", kind="Ship")
    ships.create(body=ship("anna", 3), namespace="default")
    ships.patch(
        name="anna", namespace="default", body={"spec": {"bays": 4}}, content_type="application/merge-patch+json"
    )
    seen = [event["object"].spec.bays for event in ships.watch(namespace="default", timeout=1)]
    assert seen == [4]
    with pytest.raises(ApiException, match="should be greater than or equal to 1"):
        ships.create(body=ship("none", 0), namespace="default")
    ships.delete(name="anna", namespace="default")
    assert ships.get(namespace="default").items == []
