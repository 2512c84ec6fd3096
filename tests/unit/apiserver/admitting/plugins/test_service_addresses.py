"""Addresses of services."""

from __future__ import annotations

from typing import Any

from tests.support.admission_documents import NOW, Documents, admitted, document, namespace, refusal, resource_named

from bayplan.apiserver.registry.admission import admit_update


def _service(name: str, **spec: Any) -> dict[str, Any]:
    made = document("v1", "Service", {"ports": [{"port": 80}], **spec})
    return {**made, "metadata": {**made["metadata"], "name": name}}


def test_the_lowest_free_address_and_port_are_taken() -> None:
    first = admitted(_service("a", type="NodePort"))
    second = admitted(_service("b", type="NodePort"), first)
    assert [one["spec"]["clusterIP"] for one in (first, second)] == ["10.96.1.1", "10.96.1.2"]
    assert [one["spec"]["ports"][0]["nodePort"] for one in (first, second)] == [30086, 30087]


def test_a_taken_address_is_refused() -> None:
    standing = admitted(_service("a"))
    message = (
        'spec.clusterIPs: Invalid value: ["10.96.1.1"]: failed to allocate IP 10.96.1.1: provided IP '
        "is already allocated"
    )
    assert refusal(_service("b", clusterIP="10.96.1.1"), standing) == message


def test_a_headless_service_has_none() -> None:
    spec = admitted(_service("a", clusterIP="None"))["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


def test_an_update_that_leaves_them_out_keeps_them() -> None:
    old = admitted(_service("a", type="NodePort"))
    new = {**old, "spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81, "name": "b"}]}}
    new["spec"]["ports"][0]["name"] = "a"
    spec = admit_update(resource_named(old), new, old, Documents(namespace("default"), old), NOW)["spec"]
    assert spec["clusterIP"] == old["spec"]["clusterIP"]
    assert [port["nodePort"] for port in spec["ports"]] == [30086, 30087]


def test_a_service_that_is_no_longer_on_nodes_gives_up_its_ports() -> None:
    old = admitted(_service("a", type="NodePort"))
    new = {**old, "spec": {**old["spec"], "type": "ClusterIP"}}
    new["spec"].pop("externalTrafficPolicy")
    spec = admit_update(resource_named(old), new, old, Documents(namespace("default"), old), NOW)["spec"]
    assert "nodePort" not in spec["ports"][0]


def test_a_port_of_a_node_that_another_port_takes_is_not_kept() -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    first, second = 31_000, 31_001
    given = [{**port, "nodePort": number} for port, number in zip(ports, (first, second), strict=True)]
    old = admitted(_service("a", type="NodePort", ports=given))
    moved = [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "nodePort": first}]
    new = {**old, "spec": {"type": "NodePort", "ports": moved}}
    made = admit_update(resource_named(old), new, old, Documents(namespace("default"), old), NOW)
    numbers = [port["nodePort"] for port in made["spec"]["ports"]]
    assert numbers[1] == first
    assert numbers[0] not in (first, None)
    same = {**old, "spec": {"type": "NodePort", "ports": ports}}
    made = admit_update(resource_named(old), same, old, Documents(namespace("default"), old), NOW)
    assert [port["nodePort"] for port in made["spec"]["ports"]] == [first, second]
