"""NodePools and Autoscalers over an API: as in files, with the words of files for what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.apiserver.registry.own_kinds import serve_own_kinds
from bayplan.model.kinds import OWN_KINDS
from bayplan.model.node_pools import Autoscaler, AutoscalerSpec, NodePool, NodePoolSpec

POOLS = "/apis/bayplan/v1/nodepools"
AUTOSCALERS = "/apis/bayplan/v1/autoscalers"
SCHEMAS = "/openapi/v3/apis/bayplan/v1"


@pytest.fixture
def api() -> Api:
    made = Api()
    serve_own_kinds(made.registry)
    return made


def pool(name: str = "a", **spec: Any) -> dict[str, Any]:
    template = {"status": {"allocatable": {"cpu": "4", "memory": "16Gi"}}}
    return {
        "apiVersion": "bayplan/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, "max": 3, **spec},
    }


def autoscaler(name: str = "default", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "bayplan/v1", "kind": "Autoscaler", "metadata": {"name": name}, "spec": spec}


def test_a_pool_is_created_changed_and_deleted_and_controllers_see_it(api: Api) -> None:
    api.post(POOLS, pool(price=0.5))
    content = api.registry.typed.content
    seen = content.find("NodePool", "", "a")
    assert isinstance(seen, NodePool)
    assert (seen.spec.max, seen.spec.price, seen.spec.template.status.allocatable["cpu"]) == (3, 0.5, "4")
    assert api.patch(f"{POOLS}/a", {"spec": {"max": 7}})["metadata"]["generation"] == 2
    changed = content.find("NodePool", "", "a")
    assert isinstance(changed, NodePool)
    assert changed.spec.max == 7
    api.answer("DELETE", f"{POOLS}/a")
    assert content.find("NodePool", "", "a") is None


def test_tables_show_what_a_pool_is(api: Api) -> None:
    api.post(POOLS, pool(min=1, price=0.25))
    table = api.answer("GET", POOLS, accept="application/json;as=Table;g=meta.k8s.io;v=v1").body.decode()
    assert [column for column in ("Nodes", "Min", "Max", "Price", "Age") if f'"{column}"' not in table] == []
    assert '"cells":["a",null,1,3,0.25,' in table.replace(" ", "")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"max": 0}, "spec.max: Invalid value: 0 is not a number from 1 to 15,000"),
        ({"min": 5}, "spec.min: Invalid value: 5 is more than spec.max, 3"),
        ({"template": {}}, "spec.template.status.allocatable: Invalid value: is required: without it no pod fits"),
        ({"startTime": "soon"}, "spec.startTime: Invalid value: "),
        ({"max": "3"}, "spec.max: Invalid value: "),
        ({"template": {"status": {"allocatable": {"cpu": "much"}}}}, "spec.template.status.allocatable[cpu]: "),
        ({"devices": [{"drivr": "d"}]}, "spec.devices[0].drivr: Invalid value: unknown field"),
    ],
)
def test_what_is_wrong_is_refused_with_the_words_of_files(spec: dict[str, Any], said: str, api: Api) -> None:
    status, answer = api.call("POST", POOLS, pool(**spec))
    assert status == 422
    assert said in answer["message"]
    stored = api.post(POOLS, pool())
    status, answer = api.call("PUT", f"{POOLS}/a", {**stored, "spec": pool(**spec)["spec"]})
    assert status == 422
    assert said in answer["message"]


def test_unknown_fields_are_told_to_strict_clients(api: Api) -> None:
    status, answer = api.call("POST", f"{POOLS}?fieldValidation=Strict", pool(maximum=4))
    assert status == 400
    assert 'unknown field "spec.maximum"' in answer["message"]


def test_only_one_autoscaler_can_act(api: Api) -> None:
    api.post(AUTOSCALERS, autoscaler(mode="karpenter"))
    status, answer = api.call("POST", AUTOSCALERS, autoscaler("second"))
    assert status == 422
    assert "there is another one, default; only one can act" in answer["message"]
    status, answer = api.call("PATCH", f"{AUTOSCALERS}/default", {"spec": {"mode": "karpentr"}})
    assert status == 415  # as of any custom resource: no strategic merge patch
    assert api.patch(f"{AUTOSCALERS}/default", {"spec": {"expander": "price"}})["spec"]["expander"] == "price"


def test_kubectl_finds_and_explains_the_kinds(api: Api) -> None:
    found = api.get("/apis/bayplan/v1")["resources"]
    assert [(each["name"], each["kind"], each["namespaced"]) for each in found] == [
        ("autoscalers", "Autoscaler", False),
        ("nodepools", "NodePool", False),
        ("nodepools/status", "NodePool", False),
    ]
    schemas = api.get(SCHEMAS)["components"]["schemas"]
    for struct, spec in ((NodePool, NodePoolSpec), (Autoscaler, AutoscalerSpec)):
        shown = next(schema for name, schema in schemas.items() if name.endswith(f".{struct.__name__}"))
        properties = shown["properties"]["spec"]["properties"]
        assert set(properties) == set(spec.__struct_encode_fields__)
        assert all(each.get("description") for each in properties.values())


def test_the_group_cannot_be_defined_by_anybody_else(api: Api) -> None:
    assert {info.group for info in OWN_KINDS.values()} == {"bayplan"}
    names = {"kind": "NodePool", "plural": "nodepools"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    spec = {"group": "bayplan", "names": names, "scope": "Cluster", "versions": versions}
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodepools.bayplan"},
        "spec": spec,
    }
    status, answer = api.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document)
    assert status == 422
    assert "should be a domain with at least one dot" in answer["message"]
