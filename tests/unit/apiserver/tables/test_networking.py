"""Rows of services, endpoints, ingresses and addresses."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.networking import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    INGRESS_CLASSES,
    INGRESSES,
    IP_ADDRESSES,
    NETWORK_POLICIES,
    SERVICE_CIDRS,
    SERVICES,
)
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")


def named(**fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, **fields}


@pytest.mark.parametrize(
    ("spec", "balancer", "cells"),
    [
        ({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"]}, [], ["ClusterIP", "10.0.0.1", "<none>", "<none>"]),
        (
            {"type": "ClusterIP", "externalIPs": ["1.1.1.1", "2.2.2.2"], "ports": [{"port": 80, "protocol": "TCP"}]},
            [],
            ["ClusterIP", "<none>", "1.1.1.1,2.2.2.2", "80/TCP"],
        ),
        (
            {
                "type": "NodePort",
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
            },
            [],
            ["NodePort", "<none>", "<none>", "80:30080/TCP,53/UDP"],
        ),
        ({"type": "LoadBalancer"}, [], ["LoadBalancer", "<none>", "<pending>", "<none>"]),
        (
            {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            [{"ip": "2.2.2.2"}, {"hostname": "a.example"}, {"ip": "2.2.2.2"}],
            ["LoadBalancer", "<none>", "2.2.2.2,a.example,9.9.9.9", "<none>"],
        ),
        (
            {"type": "ExternalName", "externalName": "db.example.com"},
            [],
            ["ExternalName", "<none>", "db.example.com", "<none>"],
        ),
        ({}, [], ["", "<none>", "<unknown>", "<none>"]),
    ],
)
def test_a_service_shows_how_it_is_reached(spec: Part, balancer: list[Part], cells: list[str]) -> None:
    service = named(spec={**spec, "selector": {"a": "1"}}, status={"loadBalancer": {"ingress": balancer}})
    assert SERVICES.cells(service, NOW) == ["x", *cells, "60s", "a=1"]


def addresses(*ips: str) -> list[Part]:
    return [{"ip": ip} for ip in ips]


@pytest.mark.parametrize(
    ("subsets", "text"),
    [
        ([], "<none>"),
        ([{"notReadyAddresses": addresses("1.1.1.1"), "ports": [{"port": 80}]}], ""),
        ([{"addresses": addresses("1.1.1.1", "2.2.2.2")}], "1.1.1.1,2.2.2.2"),
        ([{"addresses": addresses("1.1.1.1", "fd00::1"), "ports": [{"port": 80}]}], "1.1.1.1:80,[fd00::1]:80"),
        (
            [{"addresses": addresses("1.1.1.1", "2.2.2.2"), "ports": [{"port": 80}, {"port": 81}]}],
            "1.1.1.1:80,2.2.2.2:80,1.1.1.1:81 + 1 more...",
        ),
    ],
)
def test_endpoints_show_three_addresses(subsets: list[Part], text: str) -> None:
    assert ENDPOINTS.cells(named(subsets=subsets), NOW) == ["x", text, "60s"]


@pytest.mark.parametrize(
    ("ports", "endpoints", "cells"),
    [
        ([], [], ["<unset>", "<unset>"]),
        ([{"port": 80}, {"name": "web"}, {}], [{"addresses": ["a", "b"]}, {"addresses": ["c"]}], ["80,web,*", "a,b,c"]),
        ([{"port": n} for n in range(5)], [{"addresses": ["a"] * 4}], ["0,1,2 + 2 more...", "a,a,a + 1 more..."]),
    ],
)
def test_an_endpoint_slice_shows_three_of_each(ports: list[Part], endpoints: list[Part], cells: list[str]) -> None:
    endpoint_slice = named(addressType="IPv4", ports=ports, endpoints=endpoints)
    assert ENDPOINT_SLICES.cells(endpoint_slice, NOW) == ["x", "IPv4", *cells, "60s"]


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({}, ["<none>", "*", "", "80"]),
        (
            {"ingressClassName": "nginx", "rules": [{"host": "a"}, {}, {"host": "b"}], "tls": [{}]},
            ["nginx", "a,b", "", "80, 443"],
        ),
        ({"rules": [{"host": host} for host in "abcde"]}, ["<none>", "a,b,c + 2 more...", "", "80"]),
    ],
)
def test_an_ingress_shows_class_hosts_and_ports(spec: Part, cells: list[str]) -> None:
    assert INGRESSES.cells(named(spec=spec), NOW) == ["x", *cells, "60s"]


def test_an_ingress_shows_where_it_is_reached() -> None:
    status = {"loadBalancer": {"ingress": [{"hostname": "z.example"}, {"ip": "1.1.1.1"}]}}
    assert INGRESSES.cells(named(status=status), NOW)[3] == "1.1.1.1,z.example"


@pytest.mark.parametrize(
    ("annotations", "parameters", "cells"),
    [
        ({}, None, ["x", "example.com/c", "<none>"]),
        (
            {"ingressclass.kubernetes.io/is-default-class": "true"},
            {"kind": "K", "name": "n"},
            ["x (default)", "example.com/c", "K/n"],
        ),
        ({}, {"apiGroup": "g.example", "kind": "K", "name": "n"}, ["x", "example.com/c", "K.g.example/n"]),
    ],
)
def test_an_ingress_class_marks_the_default(annotations: Part, parameters: Part | None, cells: list[str]) -> None:
    ingress_class = named(spec={"controller": "example.com/c", "parameters": parameters})
    ingress_class["metadata"]["annotations"] = annotations
    assert INGRESS_CLASSES.cells(ingress_class, NOW) == [*cells, "60s"]


@pytest.mark.parametrize(("selector", "text"), [({}, "<none>"), ({"matchLabels": {"a": "1"}}, "a=1")])
def test_a_network_policy_shows_its_pods(selector: Part, text: str) -> None:
    assert NETWORK_POLICIES.cells(named(spec={"podSelector": selector}), NOW) == ["x", text, "60s"]


def test_a_service_cidr_shows_its_ranges() -> None:
    assert SERVICE_CIDRS.cells(named(spec={"cidrs": ["10.0.0.0/16", "fd00::/108"]}), NOW)[1] == "10.0.0.0/16,fd00::/108"


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (None, "<none>"),
        ({"resource": "services", "namespace": "default", "name": "web"}, "services/default/web"),
        ({"group": "g.example", "resource": "Things", "name": "t"}, "things.g.example/t"),
    ],
)
def test_an_ip_address_shows_its_holder(reference: Part | None, text: str) -> None:
    assert IP_ADDRESSES.cells(named(spec={"parentRef": reference}), NOW) == ["x", text, "60s"]
