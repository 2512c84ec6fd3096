"""Schemas of built-in types as OpenAPI publishes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.apiserver.schema import openapi_schemas
from bayplan.apiserver.schema.messages import message
from bayplan.apiserver.schema.openapi_schemas import V2, V3, Schema, SchemaDialect, definition_name, schemas

POD_SPEC = "io.k8s.api.core.v1.PodSpec"


@pytest.fixture(scope="module")
def v2() -> dict[str, Schema]:
    return schemas(["core.v1.Pod", "core.v1.Service", "apiextensions.v1.CustomResourceDefinition"], V2)


@pytest.fixture(scope="module")
def v3() -> dict[str, Schema]:
    return schemas(["core.v1.Pod", "core.v1.Service", "meta.v1.DeleteOptions"], V3)


@pytest.mark.parametrize(
    ("type_name", "published"),
    [
        ("core.v1.Pod", "io.k8s.api.core.v1.Pod"),
        ("meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
        ("Quantity", "io.k8s.apimachinery.pkg.api.resource.Quantity"),
        ("apiregistration.v1.APIService", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"),
        ("apiextensions.v1.JSONSchemaProps", f"{definition_name('JSON').removesuffix('.JSON')}.JSONSchemaProps"),
    ],
)
def test_types_have_the_names_that_kubernetes_publishes(type_name: str, published: str) -> None:
    assert definition_name(type_name) == published


def test_version_3_wraps_references_and_gives_defaults(v3: dict[str, Schema]) -> None:
    spec = v3["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": f"#/components/schemas/{POD_SPEC}"}]
    assert spec["default"] == {}
    port = v3["io.k8s.api.core.v1.ContainerPort"]["properties"]
    assert (port["protocol"]["default"], port["containerPort"]["default"]) == ("TCP", 0)
    assert "default" not in port["hostPort"]
    assert v3["io.k8s.apimachinery.pkg.api.resource.Quantity"]["oneOf"]


def test_version_2_has_plain_references_and_no_defaults(v2: dict[str, Schema]) -> None:
    spec = v2["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    assert spec["$ref"] == f"#/definitions/{POD_SPEC}"
    assert "default" not in spec
    assert v2["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {"type": "string", "format": "int-or-string"}


def test_lists_say_how_they_are_merged(v3: dict[str, Schema]) -> None:
    containers = v3[POD_SPEC]["properties"]["containers"]
    assert {name: value for name, value in containers.items() if name.startswith("x-")} == {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }
    assert v3[POD_SPEC]["required"] == ["containers"]


def test_texts_list_their_values(v3: dict[str, Schema]) -> None:
    properties = v3[POD_SPEC]["properties"]
    assert properties["restartPolicy"]["enum"] == ["Always", "Never", "OnFailure"]
    assert "enum" not in properties["nodeName"]


def test_only_whole_objects_name_their_kind(v3: dict[str, Schema]) -> None:
    kinds = "x-kubernetes-group-version-kind"
    assert v3["io.k8s.api.core.v1.Pod"][kinds] == [{"group": "", "version": "v1", "kind": "Pod"}]
    assert kinds not in v3[POD_SPEC]
    options = v3[definition_name("meta.v1.DeleteOptions")][kinds]
    assert {"group": "apps", "version": "v1", "kind": "DeleteOptions"} in options


def test_maps_and_bytes_have_their_types() -> None:
    secret = schemas(["core.v1.Secret"], V2)["io.k8s.api.core.v1.Secret"]["properties"]
    assert secret["data"] == {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}}


def test_a_type_without_fields_has_no_properties(v2: dict[str, Schema]) -> None:
    status = v2[definition_name("apiextensions.v1.CustomResourceSubresourceStatus")]
    assert "properties" not in status


@pytest.mark.parametrize("form", [V2, V3], ids=["v2", "v3"])
def test_every_reference_leads_to_a_schema(form: SchemaDialect) -> None:
    found = schemas(["core.v1.Pod", "apiextensions.v1.CustomResourceDefinition", "resource.v1.ResourceSlice"], form)
    assert references(found, form) <= set(found)


def references(value: object, form: SchemaDialect) -> set[str]:
    if isinstance(value, dict):
        inner = set().union(*(references(each, form) for each in value.values())) if value else set()
        is_reference = isinstance(value.get("$ref"), str)
        return inner | ({value["$ref"].removeprefix(form.reference_prefix)} if is_reference else set())
    if isinstance(value, list):
        return set().union(*(references(each, form) for each in value)) if value else set()
    return set()


def test_descriptions_are_about_types_and_fields_that_exist() -> None:
    described = Path(openapi_schemas.__file__).parent / "data" / "descriptions.txt"
    names = [line.split(" ", 1)[0] for line in described.read_text().splitlines()]
    assert len(names) == len(set(names))
    for name in names:
        type_name, field = name.rsplit(".", 1) if name.count(".") == 3 else (name, None)
        assert field is None or field in message(type_name).fields, name
        assert message(type_name).name == type_name


def test_a_described_field_carries_its_description(v3: dict[str, Schema]) -> None:
    assert "scheduler" in v3[POD_SPEC]["properties"]["nodeName"]["description"]
    assert v3["io.k8s.api.core.v1.Pod"]["description"]
