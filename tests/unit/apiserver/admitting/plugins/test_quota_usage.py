"""What quotas count of one object, and under which names."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, container, document, pod, resource_named

from bayplan.apiserver.admitting.plugins.quota_usage import counted_resources, usage_of
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time


def counted(given: dict[str, Any], now: int = NOW) -> dict[str, str]:
    """Without what is counted of all objects alike."""
    return {name: n for name, n in usage_of(resource_named(given), given, now).items() if not name.startswith("count/")}


def service(kind: str, *node_ports: int, **more: Any) -> dict[str, Any]:
    ports = [{"port": 80, **({"nodePort": number} if number else {})} for number in node_ports]
    return document("v1", "Service", {"type": kind, "ports": ports, **more})


@pytest.mark.parametrize(
    ("given", "node_ports", "balancers"),
    [
        (service("ClusterIP", 0, 0), "0", "0"),
        (service("NodePort", 0, 0), "2", "0"),
        (service("LoadBalancer", 0, 30_000), "2", "1"),
        (service("LoadBalancer", 0, 0, allocateLoadBalancerNodePorts=True), "2", "1"),
        (service("LoadBalancer", 0, 30_000, 30_001, allocateLoadBalancerNodePorts=False), "2", "1"),
        (service("LoadBalancer", 0, allocateLoadBalancerNodePorts=False), "0", "1"),
        (service("ExternalName"), "0", "0"),
    ],
)
def test_services(given: dict[str, Any], node_ports: str, balancers: str) -> None:
    assert counted(given) == {"services": "1", "services.nodeports": node_ports, "services.loadbalancers": balancers}


def claim(storage: str | None = None, annotated: str = "", **more: Any) -> dict[str, Any]:
    requests = {} if storage is None else {"requests": {"storage": storage}}
    made = document("v1", "PersistentVolumeClaim", {"resources": requests, **more})
    if annotated:
        made["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": annotated}
    return made


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (claim(), {"persistentvolumeclaims": "1"}),
        (claim("1Gi"), {"persistentvolumeclaims": "1", "requests.storage": "1Gi"}),
        (claim("1500m"), {"persistentvolumeclaims": "1", "requests.storage": "2"}),
        (
            claim(storageClassName="fast"),
            {"persistentvolumeclaims": "1", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        ),
        (
            claim(storageClassName="fast", annotated="slow"),
            {"persistentvolumeclaims": "1", "slow.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        ),
    ],
)
def test_claims_of_volumes(given: dict[str, Any], usage: dict[str, str]) -> None:
    assert counted(given) == usage


def devices(*requests: dict[str, Any]) -> dict[str, Any]:
    return document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": list(requests)}})


def asks(name: str, count: int | None = None, mode: str = "ExactCount") -> dict[str, Any]:
    return {"deviceClassName": name, "allocationMode": mode, **({} if count is None else {"count": count})}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (devices(), {}),
        (devices({"exactly": asks("a", 2)}), {"a": "2"}),
        (devices({"exactly": asks("a")}), {"a": "0"}),
        (
            devices({"exactly": asks("a", 2)}, {"exactly": asks("a", 1)}, {"exactly": asks("b", 1)}),
            {"a": "3", "b": "1"},
        ),
        (devices({"exactly": asks("a", mode="All")}), {"a": "32"}),
        (devices({"firstAvailable": [asks("a", 1), asks("a", 3), asks("b", 2)]}), {"a": "3", "b": "2"}),
        (devices({"firstAvailable": [asks("a"), asks("b", 1)]}), {"a": "0", "b": "1"}),
    ],
)
def test_claims_of_devices_count_the_most_that_any_alternative_takes(
    given: dict[str, Any], usage: dict[str, str]
) -> None:
    assert counted(given) == {f"{name}.deviceclass.resource.k8s.io/devices": n for name, n in usage.items()}


def test_pods_count_what_they_ask_for_under_several_names() -> None:
    amounts = {
        "requests": {"cpu": "1", "example.com/gpu": "2"},
        "limits": {"cpu": "2", "hugepages-2Mi": "2Mi", "example.com/gpu": "2"},
    }
    amounts["requests"]["hugepages-2Mi"] = "2Mi"
    assert counted(pod(containers=[container(resources=amounts)])) == {
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "hugepages-2Mi": "2Mi",
        "requests.hugepages-2Mi": "2Mi",
        "requests.example.com/gpu": "2",
    }


@pytest.mark.parametrize(
    ("phase", "grace", "since", "counts"),
    [
        ("Running", None, None, True),
        ("Succeeded", None, None, False),
        ("Failed", None, None, False),
        ("Running", 30, 30, True),
        ("Running", 30, 31, False),
        ("Running", None, 1000, True),
    ],
)
def test_pods_that_ended_or_should_have_count_no_more(
    phase: str, grace: int | None, since: int | None, counts: bool
) -> None:
    """`grace` are the seconds that the pod had when its deletion began, `since` seconds ago."""
    given = {**pod(), "status": {"phase": phase}}
    if since is not None:
        given["metadata"] = {**given["metadata"], "deletionTimestamp": format_time(NOW - since * SECOND)}
    if grace is not None:
        given["metadata"] = {**given["metadata"], "deletionGracePeriodSeconds": grace}
    assert bool(counted(given)) == counts


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (
            pod(),
            [
                *("pods", "cpu", "requests.memory", "limits.ephemeral-storage", "hugepages-2Mi"),
                *("requests.hugepages-1Gi", "requests.example.com/gpu", "count/pods"),
            ],
        ),
        (service("ClusterIP"), ["services", "services.nodeports", "count/services"]),
        (claim(), ["requests.storage", "fast.storageclass.storage.k8s.io/requests.storage"]),
        (devices(), ["a.deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io"]),
        (document("v1", "Secret"), ["secrets", "count/secrets"]),
        (document("apps/v1", "Deployment", {}), ["count/deployments.apps"]),
    ],
)
def test_which_names_count_it(given: dict[str, Any], names: list[str]) -> None:
    others = ["limits.example.com/gpu", "requests.kubernetes.io/x", "requests.x", "example.com/gpu", "count/x", "x"]
    assert counted_resources(resource_named(given), [*others, *names]) == names
