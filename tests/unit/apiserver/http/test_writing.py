"""Patches that make a field of another type, fields that there are not, and fields that are given twice."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    JSON,
    MERGE_PATCH,
    TOYS,
    Api,
    config_map,
    deployment,
    toy,
    toy_definition,
)

YAML = "application/yaml"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"replicas": "many"}, '"map[spec:map[replicas:many]]": unrecognized type: int32'),
        ({"paused": 1}, '"map[spec:map[paused:1]]": unrecognized type: bool'),
        ({"template": "none"}, '"map[spec:map[template:none]]": cannot restore struct from: string'),
    ],
)
def test_a_strategic_merge_patch(spec: dict[str, Any], fault: str) -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    message = f' "" is invalid: patch: Invalid value: {fault}'
    assert api.refusal("PATCH", f"{DEPLOYMENTS}/d", {"spec": spec}, STRATEGIC) == (422, message)


def test_a_merge_patch_whose_outcome_does_not_decode_is_refused() -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    status, message = api.refusal("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": "many"}}, MERGE_PATCH)
    assert status == 422
    assert "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32" in message


APPLY = "application/apply-patch+yaml"
STRICT = "fieldManager=m&fieldValidation=Strict"
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"default": "x", **TEXT}}}},
}


def toys() -> Api:
    api = Api()
    api.post(DEFINITIONS, toy_definition(SCHEMA))
    return api


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
def test_applied_fields_that_a_schema_does_not_have_are_always_refused(validation: str) -> None:
    query = f"fieldManager=m&fieldValidation={validation}"
    status, message = toys().refusal("PATCH", f"{TOYS}/t?{query}", toy(unknown=1), APPLY)
    assert status == 500
    assert message.endswith(": .unknown: field not declared in schema")
    status, message = Api().refusal("PATCH", f"{CONFIG_MAPS}/m?{query}", {**config_map(), "zz": 1}, APPLY)
    assert message.endswith(": .zz: field not declared in schema")


def test_nobody_owns_defaults_by_applying() -> None:
    made = toys().patch(f"{TOYS}/t?fieldManager=m", toy(spec={"a": "1"}), APPLY)
    assert made["spec"] == {"a": "1", "b": "x"}
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:a": {}}}


TWICE = b"apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: t}\nspec:\n  a: x\n  a: y\n"


@pytest.mark.parametrize(
    ("method", "path", "media", "body", "fault"),
    [
        ("PATCH", f"{TOYS}/t?{STRICT}", APPLY, TWICE, 'line 6: key "a" already set in map'),
        ("POST", f"{TOYS}?{STRICT}", YAML, TWICE, 'line 6: key "a" already set in map'),
        ("POST", f"{TOYS}?{STRICT}", JSON, b'{"metadata":{"name":"t"},"spec":{"a":"x","a":"y"}}', '"spec.a"'),
    ],
)
def test_fields_given_twice_are_refused(method: str, path: str, media: str, body: bytes, fault: str) -> None:
    status, message = toys().refusal(method, path, body, media)
    assert status == 400
    assert fault in message


def test_fields_given_twice_are_warned_of_unless_that_is_refused_too() -> None:
    api = toys()
    answer = api.answer("POST", TOYS, TWICE, YAML)
    assert answer.status == 201
    assert any("already set in map" in value for name, value in answer.headers if name == "warning")
    assert api.answer("POST", f"{TOYS}?fieldValidation=Ignore", TWICE.replace(b"t}", b"u}"), YAML).headers == ()


REPEATED = b'{"data":{"a":"1","a":"2"}}'


@pytest.mark.parametrize("media", [MERGE_PATCH, STRATEGIC])
def test_fields_given_twice_in_a_patch(media: str) -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map())
    status, message = api.refusal("PATCH", f"{CONFIG_MAPS}/m?fieldValidation=Strict", REPEATED, media)
    assert status == 422
    assert message.endswith('strict decoding error: duplicate field "data.a"')
    warned = api.answer("PATCH", f"{CONFIG_MAPS}/m?fieldValidation=Warn", REPEATED, media)
    assert dict(warned.headers) == {"warning": '299 - "duplicate field \\"data.a\\""'}
    ignored = api.answer("PATCH", f"{CONFIG_MAPS}/m?fieldValidation=Ignore", REPEATED, media)
    assert (ignored.status, ignored.headers) == (200, ())


@pytest.mark.parametrize("media", [MERGE_PATCH, STRATEGIC])
def test_unknown_fields_of_a_strict_patch(media: str) -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map())
    status, message = api.refusal("PATCH", f"{CONFIG_MAPS}/m?fieldValidation=Strict", {"zz": 1}, media)
    assert status == 422
    assert message.startswith(' "" is invalid: patch: Invalid value: ')
    assert message.endswith('strict decoding error: unknown field "zz"')


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ({"generation": "1"}, ".metadata.generation: expected numeric (int or float), got string"),
        ({"labels": [1]}, ".metadata.labels: expected map, got &{[1]}"),
    ],
)
def test_metadata_that_is_applied_has_the_right_types(metadata: dict[str, Any], fault: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}}
    path = f"{CONFIG_MAPS}/a?fieldManager=tests"
    status, message = Api().refusal("PATCH", path, body, "application/apply-patch+yaml")
    assert (status, message) == (500, f"failed to create typed patch object (/a; /v1, Kind=ConfigMap): {fault}")
