"""Endpoints that users write for services without a selector are mirrored into EndpointSlices."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.endpoints import ServiceEndpoints
from bayplan.apiserver.housekeeping.garbage import DocumentCollector
from bayplan.apiserver.housekeeping.mirroring import EndpointsMirroring

SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
DNS = {"name": "dns", "port": 53, "protocol": "UDP"}
MIRROR = "endpointslicemirroring-controller.k8s.io"
NOT_MIRRORED = [
    ({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}, {}),
    ({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}, {}),
    ({}, {"selector": {"app": "web"}}),
]


def subset(*ips: str, ports: tuple[Any, ...] = (HTTP,), field: str = "addresses") -> dict[str, Any]:
    return {field: [{"ip": ip} for ip in ips], "ports": list(ports)}


def staged(*subsets: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> Stage:
    stage = Stage([ServiceEndpoints(), EndpointsMirroring(), DocumentCollector()])
    stage.post(ENDPOINTS, metadata=named("web", **metadata), subsets=list(subsets))
    assert mirrored(stage) == []  # there is no service yet
    stage.post(SERVICES, metadata=named("web"), spec={"ports": [{"port": 80}], **(spec or {})})
    return stage


def mirrored(stage: Stage) -> list[dict[str, Any]]:
    return [
        one
        for one in stage.api.get(SLICES)["items"]
        if one["metadata"]["labels"].get("endpointslice.kubernetes.io/managed-by") == MIRROR
    ]


def shown(stage: Stage) -> list[tuple[str, list[int], list[tuple[str, bool]]]]:
    """Of each slice its type, its ports, and its addresses with whether they are ready."""
    return sorted(
        (
            one["addressType"],
            [port["port"] for port in one["ports"] or ()],
            [(known["addresses"][0], known["conditions"]["ready"]) for known in one["endpoints"]],
        )
        for one in mirrored(stage)
    )


@pytest.mark.parametrize(
    ("subsets", "wanted"),
    [
        ([], []),
        ([subset("10.1.2.3")], [("IPv4", [80], [("10.1.2.3", True)])]),
        ([subset("10.1.2.3", field="notReadyAddresses")], [("IPv4", [80], [("10.1.2.3", False)])]),
        ([subset("10.1.2.3", ports=())], [("IPv4", [], [("10.1.2.3", True)])]),
        (
            [subset("10.1.2.3", "2001:DB8::1")],
            [("IPv4", [80], [("10.1.2.3", True)]), ("IPv6", [80], [("2001:db8::1", True)])],
        ),
        (
            [subset("10.1.2.3"), subset("10.1.2.4", ports=(DNS,))],
            [("IPv4", [53], [("10.1.2.4", True)]), ("IPv4", [80], [("10.1.2.3", True)])],
        ),
        # Subsets with the same ports are one, and so are those with the same addresses.
        ([subset("10.1.2.3"), subset("10.1.2.4")], [("IPv4", [80], [("10.1.2.3", True), ("10.1.2.4", True)])]),
        ([subset("10.1.2.3"), subset("10.1.2.3", ports=(DNS,))], [("IPv4", [80, 53], [("10.1.2.3", True)])]),
        # What is not ready in one of them is not ready.
        (
            [subset("10.1.2.3"), subset("10.1.2.3", field="notReadyAddresses")],
            [("IPv4", [80], [("10.1.2.3", False)])],
        ),
    ],
)
def test_subsets(subsets: list[dict[str, Any]], wanted: list[Any]) -> None:
    assert shown(staged(*subsets)) == wanted


@pytest.mark.parametrize(("metadata", "spec"), NOT_MIRRORED)
def test_what_is_not_mirrored(metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    assert mirrored(staged(subset("10.1.2.3"), spec=spec, **metadata)) == []


@pytest.mark.parametrize(("metadata", "spec"), NOT_MIRRORED)
def test_what_is_not_mirrored_any_more(metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    stage = staged(subset("10.1.2.3"))
    assert len(mirrored(stage)) == 1
    stage.patch(f"{ENDPOINTS}/web", metadata=metadata)
    stage.patch(f"{SERVICES}/web", spec=spec)
    assert mirrored(stage) == []


def test_all_that_an_endpoint_has() -> None:
    target = {"kind": "Pod", "namespace": "default", "name": "a"}
    address = {"ip": "10.1.2.3", "hostname": "h", "nodeName": "n", "targetRef": target}
    port = {"port": 80, "appProtocol": "kubernetes.io/h2c"}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "kept"}
    stage = staged({"addresses": [address], "ports": [port]}, labels={"tier": "front"}, annotations=applied)
    (made,) = mirrored(stage)
    kept = {field: address[field] for field in ("hostname", "nodeName", "targetRef")}
    assert made["endpoints"] == [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}, **kept}]
    assert made["ports"] == [{"name": "", "protocol": "TCP", **port}]
    metadata = made["metadata"]
    assert metadata["generateName"] == "web-"
    assert metadata["annotations"] == {"note": "kept"}
    assert metadata["labels"] == {
        "tier": "front",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": MIRROR,
    }
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "name": "web",
            "uid": stage.api.get(f"{ENDPOINTS}/web")["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.parametrize(
    ("patch", "wanted"),
    [
        ({"subsets": [subset("10.2.3.4")]}, [("IPv4", [80], [("10.2.3.4", True)])]),
        ({"subsets": [subset("10.2.3.4", ports=(DNS,))]}, [("IPv4", [53], [("10.2.3.4", True)])]),
        ({"metadata": {"labels": {"tier": "back"}}}, [("IPv4", [80], [("10.1.2.3", True)])]),
    ],
)
def test_an_update_changes_the_slice_that_is_there(patch: dict[str, Any], wanted: list[Any]) -> None:
    stage = staged(subset("10.1.2.3"))
    (before,) = mirrored(stage)
    stage.patch(f"{ENDPOINTS}/web", **patch)
    (after,) = mirrored(stage)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"].get("tier") == patch.get("metadata", {}).get("labels", {}).get("tier")
    assert shown(stage) == wanted


@pytest.mark.parametrize("path", [f"{ENDPOINTS}/web", f"{SERVICES}/web"])
def test_slices_go_with_what_they_mirror(path: str) -> None:
    stage = staged(subset("10.1.2.3"))
    stage.delete(path)
    assert mirrored(stage) == []


def test_somebody_else_changes_or_deletes_the_slice() -> None:
    stage = staged(subset("10.1.2.3"))
    (made,) = mirrored(stage)
    stage.patch(f"{SLICES}/{made['metadata']['name']}", endpoints=[])
    assert shown(stage) == [("IPv4", [80], [("10.1.2.3", True)])]
    stage.delete(f"{SLICES}/{made['metadata']['name']}")
    (again,) = mirrored(stage)
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


def test_a_thousand_addresses_at_most() -> None:
    stage = staged(subset(*(f"10.1.{number // 200}.{1 + number % 200}" for number in range(1001))))
    (made,) = mirrored(stage)
    assert len(made["endpoints"]) == 1000
