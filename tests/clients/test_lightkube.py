"""lightkube: typed models over plain requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.autoscaling_v1 import Scale, ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, Pod
from lightkube.types import CascadeType, PatchType
from tests.clients.manifests import SHIPS, WEB, pod, ship

from bayplan.testing import LiveCluster


@pytest.fixture(scope="module")
def api(k: LiveCluster) -> Iterator[Any]:
    with Client(config=KubeConfig.from_file(str(k.kubeconfig)), field_manager="tests") as opened:
        yield opened


def settings(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels={"name": name}), data=data)


def test_nodes_are_listed(api: Any) -> None:
    assert [node.metadata.name for node in api.list(Node)] == ["node-1", "node-2", "node-3"]


@pytest.mark.parametrize(
    ("how", "patch", "data"),
    [
        (PatchType.JSON, [{"op": "replace", "path": "/data/a", "value": "2"}], {"a": "2"}),
        (PatchType.MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
        (PatchType.STRATEGIC, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    ],
)
def test_patches(api: Any, how: PatchType, patch: Any, data: dict[str, str]) -> None:
    name = f"patched-{how.name.lower()}"
    api.create(settings(name, a="1"))
    assert api.patch(ConfigMap, name, patch, patch_type=how).data == data


def test_server_side_apply_with_a_conflict(api: Any) -> None:
    applied = api.apply(settings("applied", a="1"))
    assert applied.metadata.managedFields[0].operation == "Apply"
    with pytest.raises(ApiError, match=r'conflict with "tests": \.data\.a') as refusal:
        api.apply(settings("applied", a="2"), field_manager="another")
    assert refusal.value.status.code == 409
    assert api.apply(settings("applied", a="2"), field_manager="another", force=True).data == {"a": "2"}


def test_a_watch(api: Any) -> None:
    api.create(settings("watched", a="1"))
    seen = []
    for event, found in api.watch(ConfigMap, labels={"name": "watched"}):
        seen.append((event, found.data["a"]))
        if event == "ADDED":
            api.replace(ConfigMap(metadata=found.metadata, data={"a": "2"}))
        elif event == "MODIFIED":
            api.delete(ConfigMap, "watched")
        else:
            break
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_deployment_is_scaled_and_deleted(k: LiveCluster, api: Any) -> None:
    api.create(from_dict(WEB))
    api.wait(Deployment, "web", for_conditions=["Available"])
    scale = api.get(Deployment.Scale, "web")
    scaled = api.replace(Deployment.Scale(metadata=scale.metadata, spec=ScaleSpec(replicas=1)), "web")
    assert isinstance(scaled, Scale)
    k.wait_until(lambda k: len(k.list("pods", selector="app=web")) == 1)
    api.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)
    k.wait_until(lambda k: not k.list("pods", selector="app=web"))
    with pytest.raises(ApiError, match=r'deployments\.apps "web" not found'):
        api.get(Deployment, "web")


def test_custom_resources(k: LiveCluster, api: Any) -> None:
    k.apply(SHIPS)
    kind = create_namespaced_resource("sea.example", "v1", "Ship", "ships")
    api.create(kind(ship("anna", 3)), namespace="default")
    api.patch(kind.Status, "anna", {"status": {"loaded": True}}, patch_type=PatchType.MERGE)
    anna = api.get(kind, "anna")
    assert (anna.spec, anna.status) == ({"bays": 3}, {"loaded": True})
    with pytest.raises(ApiError, match="should be greater than or equal to 1"):
        api.create(kind(ship("none", 0)), namespace="default")


def test_logs_say_what_happened(k: LiveCluster, api: Any) -> None:
    api.create(Pod.from_dict(pod("empty")))
    k.wait_until("pod/empty running")
    assert "simulated" in "".join(api.log("empty"))
