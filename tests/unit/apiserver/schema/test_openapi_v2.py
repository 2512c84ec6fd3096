"""The OpenAPI 2 document and its protobuf form."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.unit.apiserver.schema.test_openapi_schemas import references

from bayplan.apiserver.schema.openapi_schemas import V2
from bayplan.apiserver.schema.openapi_v2 import Document, document
from bayplan.apiserver.schema.openapi_v2_protobuf import encode_document
from bayplan.apiserver.schema.protobuf_types import class_of
from bayplan.apiserver.schema.resources import RESOURCES

POD_PATH = "/api/v1/namespaces/{namespace}/pods/{name}"


@pytest.fixture(scope="module")
def whole() -> Document:
    return document(RESOURCES, {"com.example.v1.Free": {"type": "object", "additionalProperties": True, "default": {}}})


@pytest.fixture(scope="module")
def decoded(whole: Document) -> Any:
    parsed = class_of("gnostic.Document")()
    parsed.ParseFromString(encode_document(whole))
    return parsed


def test_deep_schemas_can_be_encoded() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}
    assert len(encode_document(document(RESOURCES[:1], {"com.example.v1.Deep": schema}))) > 200


def test_every_reference_leads_to_a_definition(whole: Document) -> None:
    assert references(whole, V2) <= set(whole["definitions"])


def test_dry_runs_are_found_where_kubectl_looks_for_them(whole: Document) -> None:
    patch = whole["paths"][POD_PATH]["patch"]
    assert "dryRun" in {one["name"] for one in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}


def test_deleting_needs_no_body_but_creating_does(whole: Document) -> None:
    bodies = {
        method: next(one for one in whole["paths"][path][method]["parameters"] if one["in"] == "body")
        for method, path in [("delete", POD_PATH), ("post", "/api/v1/namespaces/{namespace}/pods")]
    }
    assert bodies["post"]["required"]
    assert "required" not in bodies["delete"]


def test_protobuf_holds_every_definition_with_its_fields(whole: Document, decoded: Any) -> None:
    definitions = {one.f1: one.f2 for one in decoded.f9.f1}
    assert list(definitions) == list(whole["definitions"])
    fields = {one.f1: one.f2 for one in definitions["io.k8s.api.core.v1.PodSpec"].f25.f1}
    assert fields["priority"].f22.f1 == ["integer"]
    assert fields["containers"].f23.f1[0].f1 == "#/definitions/io.k8s.api.core.v1.Container"
    assert fields["nodeSelector"].f21.f1.f22.f1 == ["string"]
    assert [yaml.safe_load(value.f2) for value in fields["restartPolicy"].f20] == ["Always", "Never", "OnFailure"]


def test_protobuf_holds_extensions_as_yaml(decoded: Any) -> None:
    pod = next(one.f2 for one in decoded.f9.f1 if one.f1 == "io.k8s.api.core.v1.Pod")
    extensions = {one.f1: yaml.safe_load(one.f2.f2) for one in pod.f31}
    assert extensions["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]


def test_protobuf_holds_paths_with_their_parameters(decoded: Any) -> None:
    item = next(one.f2 for one in decoded.f8.f2 if one.f1 == POD_PATH)
    in_query = [one.f1.f2.f3 for one in item.f8.f8 if one.f1.f2.HasField("f3")]
    assert [one.f4 for one in in_query] == ["dryRun", "fieldManager", "fieldValidation", "force"]
    in_path = [one.f1.f2.f4.f4 for one in item.f9 if one.f1.f2.HasField("f4")]
    assert in_path == ["name", "namespace"]


def test_schemas_of_custom_kinds_may_be_open(decoded: Any) -> None:
    free = next(one.f2 for one in decoded.f9.f1 if one.f1 == "com.example.v1.Free")
    assert free.f21.f2 is True
    assert free.f5.f2 == "{}"
