"""Definitions that are refused, by what is wrong with them; schemas have tests of their own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import DEFINITIONS, Api, toy_definition

Part = dict[str, Any]
COLUMN = {"name": "A", "type": "string", "jsonPath": ".spec.a"}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def refused(**version: Any) -> str:
    """What is said of a definition with one version that has these fields as well."""
    definition = toy_definition(SCHEMA)
    definition["spec"]["versions"][0].update(version)
    return Api().refusal("POST", DEFINITIONS, definition)[1]


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        (
            {"additionalPrinterColumns": [{**COLUMN, "type": "x"}]},
            'ns[0].type: Invalid value: "x": must be one of',
        ),
        (
            {"additionalPrinterColumns": [{**COLUMN, "format": "x"}]},
            'format: Invalid value: "x": must be one of',
        ),
        ({"additionalPrinterColumns": [{**COLUMN, "jsonPath": "a"}]}, 'JSONPath: Invalid value: "a": must be a simple'),
        (
            {"subresources": {"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.x"}}},
            "under .spec",
        ),
        ({"deprecationWarning": "old"}, 'deprecationWarning: Invalid value: "old": can only be set for deprecated'),
        ({"deprecated": True, "deprecationWarning": ""}, "must not be an empty string"),
        ({"selectableFields": [{"jsonPath": ".spec.b"}]}, "is an invalid path: does not refer to a valid field"),
        ({"selectableFields": [{"jsonPath": ".spec"}]}, "must point to a field of type string, boolean or integer"),
        (
            {"selectableFields": [{"jsonPath": ".spec.a"}] * 2},
            '[1].jsonPath: Duplicate value: ".spec.a"',
        ),
        ({"schema": {"openAPIV3Schema": {"type": "x"}}}, "spec.validation.openAPIV3Schema.type: Unsupported value"),
        ({"schema": {}}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        ({"storage": False}, "must have exactly one version marked as storage version"),
    ],
)
def test_versions(version: Part, fault: str) -> None:
    assert fault in refused(**version)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"conversion": {"strategy": "x"}}, 'spec.conversion.strategy: Unsupported value: "x"'),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.webhookClientConfig: Required value: required when"),
        (
            {"conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to",
        ),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields: Invalid value: true: cannot set to true"),
        ({"scope": "x"}, "spec.scope: Unsupported value"),
    ],
)
def test_what_all_versions_share(spec: Part, fault: str) -> None:
    definition = toy_definition(SCHEMA)
    definition["spec"].update(spec)
    assert fault in Api().refusal("POST", DEFINITIONS, definition)[1]


def test_a_kind_and_its_lists_have_names_of_their_own() -> None:
    definition = toy_definition(SCHEMA)
    definition["spec"]["names"]["listKind"] = definition["spec"]["names"]["kind"]
    assert "kind and listKind may not be the same" in Api().refusal("POST", DEFINITIONS, definition)[1]


def test_what_only_one_version_says_is_reported_there() -> None:
    definition = toy_definition(SCHEMA)
    wrong = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "x"}}}
    definition["spec"]["versions"].append(wrong)
    message = Api().refusal("POST", DEFINITIONS, definition)[1]
    assert "spec.versions[1].schema.openAPIV3Schema.type: Unsupported value" in message


def test_only_the_first_version_for_storage_is_taken_for_stored() -> None:
    definition = toy_definition(SCHEMA)
    definition["spec"]["versions"].append({**definition["spec"]["versions"][0], "name": "v2"})
    message = Api().refusal("POST", DEFINITIONS, definition)[1]
    assert "must have exactly one version marked as storage version" in message
    assert 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2' in message


def test_groups_of_kubernetes_need_an_approval() -> None:
    definition = toy_definition(SCHEMA)
    definition["spec"]["group"] = "toys.k8s.io"
    definition["metadata"]["name"] = f"{definition['spec']['names']['plural']}.toys.k8s.io"
    api = Api()
    assert "protected groups must have approval annotation" in api.refusal("POST", DEFINITIONS, definition)[1]
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "soon"}
    assert 'a reason starting with "unapproved"' in api.refusal("POST", DEFINITIONS, definition)[1]
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/x/y/pull/1"}
    assert api.call("POST", DEFINITIONS, definition)[0] == 201


def test_defaults_need_that_unknown_fields_go() -> None:
    def said(schema: Part) -> str:
        definition = toy_definition({"type": "object", "properties": {"spec": schema}})
        definition["spec"]["preserveUnknownFields"] = True
        return Api().refusal("POST", DEFINITIONS, definition)[1]

    text = "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema"
    assert text in said({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}})
    assert text not in said({"type": "object", "properties": {"a": {"type": "string"}}})


@pytest.mark.parametrize(
    ("group", "is_protected"),
    [("x.k8s.io", True), ("x.kubernetes.io", True), ("k8s.io", True), ("xk8s.io", False), ("x.example.com", False)],
)
def test_which_groups_are_kubernetes_own(group: str, is_protected: bool) -> None:
    definition = toy_definition(SCHEMA)
    definition["spec"]["group"] = group
    definition["metadata"]["name"] = f"{definition['spec']['names']['plural']}.{group}"
    status, _ = Api().call("POST", DEFINITIONS, definition)
    assert (status == 422) == is_protected
