"""Endpoints and EndpointSlices follow services and the addresses of their pods."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import PODS
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.endpoints import ServiceEndpoints
from bayplan.apiserver.housekeeping.garbage import DocumentCollector

SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
PORTS = [{"name": "http", "port": 80, "targetPort": "web"}]


def staged(**spec: Any) -> Stage:
    stage = Stage([ServiceEndpoints(), DocumentCollector()])
    stage.post(
        SERVICES,
        metadata=named("web", labels={"tier": "front"}),
        spec={"selector": {"app": "web"}, "ports": PORTS, **spec},
    )
    return stage


def run(stage: Stage, name: str, *, ready: bool, port: int = 8080) -> None:
    container = {"name": "c", "image": "x", "ports": [{"name": "web", "containerPort": port}]}
    stage.post(PODS, metadata=named(name, labels={"app": "web"}), spec={"nodeName": "n", "containers": [container]})
    condition = {"type": "Ready", "status": str(ready)}
    address = f"10.0.0.{len(stage.names(PODS))}"
    stage.patch(f"{PODS}/{name}/status", status={"phase": "Running", "podIP": address, "conditions": [condition]})


def slices(stage: Stage) -> list[dict[str, Any]]:
    return [one for one in stage.api.get(SLICES)["items"] if one["metadata"]["name"] != "kubernetes"]


def test_a_service_without_pods() -> None:
    stage = staged(clusterIP="None")
    made = stage.api.get(f"{ENDPOINTS}/web")
    assert "subsets" not in made
    assert made["metadata"]["labels"] == {
        "tier": "front",
        "service.kubernetes.io/headless": "",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }
    (one,) = slices(stage)
    assert (one["addressType"], one["endpoints"], one["ports"]) == ("IPv4", None, None)
    assert one["metadata"]["ownerReferences"][0]["name"] == "web"


def test_pods_with_an_address() -> None:
    stage = staged()
    run(stage, "a", ready=True)
    run(stage, "b", ready=False)
    (subset,) = stage.api.get(f"{ENDPOINTS}/web")["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == ["10.0.0.1"]
    assert [one["ip"] for one in subset["notReadyAddresses"]] == ["10.0.0.2"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    (one,) = slices(stage)
    assert [known["conditions"]["ready"] for known in one["endpoints"]] == [True, False]


def test_they_go_with_their_service() -> None:
    stage = staged()
    stage.delete(f"{SERVICES}/web")
    assert stage.names(ENDPOINTS) == ["kubernetes"]
    assert slices(stage) == []


def test_a_service_without_a_selector_has_none() -> None:
    stage = Stage([ServiceEndpoints()])
    stage.post(SERVICES, metadata=named("outside"), spec={"ports": [{"port": 80}]})
    assert stage.names(ENDPOINTS) == ["kubernetes"]


def ports_of_slices(stage: Stage) -> list[int]:
    return sorted(one["ports"][0]["port"] for one in slices(stage))


def test_pods_that_give_a_named_port_another_number_have_a_slice_of_their_own() -> None:
    stage = staged()
    run(stage, "a", ready=True, port=8080)
    run(stage, "b", ready=True, port=9090)
    assert [subset["ports"][0]["port"] for subset in stage.api.get(f"{ENDPOINTS}/web")["subsets"]] == [8080, 9090]
    assert ports_of_slices(stage) == [8080, 9090]
    stage.delete(f"{PODS}/b?gracePeriodSeconds=0")
    assert ports_of_slices(stage) == [8080]


def test_a_slice_keeps_its_ports_when_another_goes() -> None:
    stage = staged()
    run(stage, "a", ready=True, port=8080)
    run(stage, "b", ready=True, port=9090)
    kept = next(one["metadata"]["name"] for one in slices(stage) if one["ports"][0]["port"] == 9090)
    stage.delete(f"{PODS}/a?gracePeriodSeconds=0")
    (one,) = slices(stage)
    assert (one["metadata"]["name"], one["ports"][0]["port"]) == (kept, 9090)


def test_they_come_back_when_somebody_deletes_them() -> None:
    stage = staged()
    run(stage, "a", ready=True)
    (gone,) = slices(stage)
    stage.delete(f"{SLICES}/{gone['metadata']['name']}")
    (made,) = slices(stage)
    stage.delete(f"{ENDPOINTS}/web")
    assert made["metadata"]["uid"] != gone["metadata"]["uid"]
    assert made["endpoints"] == gone["endpoints"]
    assert stage.api.get(f"{ENDPOINTS}/web")["subsets"][0]["addresses"][0]["ip"] == "10.0.0.1"


def test_a_service_may_publish_pods_that_are_not_ready() -> None:
    stage = staged(publishNotReadyAddresses=True)
    run(stage, "a", ready=False)
    (subset,) = stage.api.get(f"{ENDPOINTS}/web")["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == ["10.0.0.1"]
    (made,) = slices(stage)
    assert made["endpoints"][0]["conditions"] == {"ready": True, "serving": False, "terminating": False}
