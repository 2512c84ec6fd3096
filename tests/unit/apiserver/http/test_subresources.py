"""Subresources that are not halves of an object: binding, eviction, scale."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import DEPLOYMENTS, PODS, Api, deployment, pod

BINDING: dict[str, Any] = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}


def _with_pod() -> Api:
    api = Api()
    api.post(PODS, pod())
    return api


def test_a_binding_gives_the_pod_its_node() -> None:
    api = _with_pod()
    assert api.post(f"{PODS}/p/binding", BINDING)["status"] == "Success"
    bound = api.get(f"{PODS}/p")
    assert bound["spec"]["nodeName"] == "n1"
    assert [condition["type"] for condition in bound["status"]["conditions"]] == ["PodScheduled"]


def test_a_binding_without_a_name_is_refused() -> None:
    body = {**BINDING, "metadata": {"name": None}}
    assert _with_pod().refusal("POST", "/api/v1/namespaces/default/bindings", body)[0] == 404


def test_a_pod_is_bound_once() -> None:
    api = _with_pod()
    api.post(f"{PODS}/p/binding", BINDING)
    fault = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    assert api.refusal("POST", f"{PODS}/p/binding", BINDING) == (409, fault)


@pytest.mark.parametrize(
    ("change", "status", "fault"),
    [
        ({"target": {"kind": "Node"}}, 500, "target.name: Required value"),
        (
            {"target": {"kind": "Pod", "name": "n1"}},
            500,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
        ({"metadata": {"name": "q"}}, 400, "name in URL does not match name in Binding object"),
        (
            {"kind": "Pod"},
            400,
            'Pod in version "v1" cannot be handled as a Binding: '
            "converting (v1.Pod) to (core.Binding): unknown conversion",
        ),
    ],
)
def test_a_binding_that_cannot_be_is_refused(change: dict[str, Any], status: int, fault: str) -> None:
    assert _with_pod().refusal("POST", f"{PODS}/p/binding", {**BINDING, **change}) == (status, fault)


def test_a_scale_is_read_and_written() -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment(replicas=2))
    scale = api.get(f"{DEPLOYMENTS}/d/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 0, "selector": "app=d"},
    )
    api.put(f"{DEPLOYMENTS}/d/scale", {**scale, "spec": {"replicas": 5}})
    assert api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 7}})["spec"] == {"replicas": 7}
    assert api.get(f"{DEPLOYMENTS}/d")["spec"]["replicas"] == 7


@pytest.mark.parametrize(
    ("patch", "status", "fault"),
    [
        (
            {"spec": {"replicas": -1}},
            422,
            'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
        ),
        (
            {"metadata": {"resourceVersion": "1"}},
            409,
            'Operation cannot be fulfilled on deployments.apps "d": the object has been modified; '
            "please apply your changes to the latest version and try again",
        ),
    ],
)
def test_a_scale_that_cannot_be_is_refused(patch: dict[str, Any], status: int, fault: str) -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    assert api.refusal("PATCH", f"{DEPLOYMENTS}/d/scale", patch, "application/merge-patch+json") == (status, fault)


def test_a_patch_that_makes_no_scale_is_quoted_with_what_it_makes() -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    patch = [{"op": "replace", "path": "/spec", "value": "no"}]
    status, fault = api.refusal("PATCH", f"{DEPLOYMENTS}/d/scale", patch, "application/json-patch+json")
    assert status == 422
    assert fault.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"autoscaling/v1\\"')
    assert fault.endswith("json: cannot unmarshal string into Go struct field Scale.spec of type v1.ScaleSpec")


@pytest.mark.parametrize("name", ["exec", "attach", "portforward"])
def test_what_needs_containers_is_refused_clearly(name: str) -> None:
    status, fault = _with_pod().refusal("GET", f"{PODS}/p/{name}")
    assert (status, fault.partition(": ")[2]) == (501, "its nodes are simulated and run no containers")


@pytest.mark.parametrize(
    ("addresses", "status", "fault"),
    [
        ([], 500, "no preferred addresses found; known addresses: []"),
        (
            [{"type": "InternalIP", "address": "172.16.0.1"}],
            501,
            "exec is not in this cluster: its nodes are simulated and run no containers",
        ),
    ],
)
def test_nodes_that_cannot_be_reached(addresses: list[dict[str, str]], status: int, fault: str) -> None:
    """Of nodes that say how to be reached, it is said why they cannot be; of others, what a real server says."""
    api = _with_pod()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"addresses": addresses}}
    api.post("/api/v1/nodes", node)
    api.post(f"{PODS}/p/binding", BINDING)
    assert api.refusal("GET", f"{PODS}/p/exec") == (status, fault)


def test_a_review_is_no_table() -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert Api().answer("POST", path, body, accept="application/json;as=Table;v=v1;g=meta.k8s.io").status == 406
    assert Api().answer("POST", path, body).status == 201
