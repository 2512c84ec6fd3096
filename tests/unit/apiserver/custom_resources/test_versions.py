"""A served version as a whole: documents received, judged, shown and selected."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.versions import CustomVersion, versions_of

Part = dict[str, Any]
SCHEMA: Part = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "string", "enum": ["S", "M"]},
                "replicas": {"type": "integer", "default": 1},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "color": {"type": "string"},
            },
            "x-kubernetes-validations": [{"rule": "self.replicas < 5", "message": "too many"}],
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}
VERSION: Part = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": SCHEMA},
    "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    },
    "additionalPrinterColumns": [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}],
    "selectableFields": [{"jsonPath": ".spec.color"}],
}
DEFINITION: Part = {
    "metadata": {"name": "shirts.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shirts", "kind": "Shirt"},
        "versions": [VERSION],
    },
}


def custom(**spec: Any) -> CustomVersion:
    return versions_of({**DEFINITION, "spec": {**DEFINITION["spec"], **spec}})[0]


def shirt(status: Part | None = None, **spec: Any) -> Part:
    made: Part = {"apiVersion": "example.com/v1", "kind": "Shirt", "metadata": {"name": "a"}, "spec": spec}
    return made if status is None else {**made, "status": status}


def messages(causes: list[Any]) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in causes]


def test_a_document_is_received_with_defaults_and_without_unknown_fields() -> None:
    document, unknown = custom().receive(shirt(size="S", odd=1, color=None))
    assert document == shirt(size="S", replicas=1)
    assert unknown == ["spec.odd"]


def test_a_definition_may_keep_unknown_fields() -> None:
    document, unknown = custom(preserveUnknownFields=True).receive(shirt(size="S", odd=1))
    assert document == shirt(size="S", odd=1, replicas=1)
    assert unknown == []


def test_a_valid_document_is_taken() -> None:
    assert custom().validate_create(shirt(size="S", replicas=1, tags=["x"])) == []


def test_faults_are_listed_and_rules_left_out_where_the_schema_is_broken() -> None:
    assert messages(custom().validate_create(shirt(replicas=9, tags=["x", "x"]))) == [
        ("spec.size", "Required value"),
        ("spec.tags[1]", 'Duplicate value: "x"'),
        (
            "<nil>",
            "Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation",
        ),
    ]


def test_rules_are_asked_once_the_schema_holds() -> None:
    assert messages(custom().validate_create(shirt(size="S", replicas=9))) == [("spec", "Invalid value: too many")]


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        (-1, "Invalid value: -1: should be a non-negative integer"),
        (2**31, "Invalid value: 2147483648: should be less than or equal to 2147483647"),
        ("x", "Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"),
    ],
)
def test_the_number_of_replicas_is_one_that_a_scale_can_show(replicas: Any, message: str) -> None:
    assert (".spec.replicas", message) in messages(custom().validate_create(shirt(size="S", replicas=replicas)))


def test_an_update_may_leave_what_was_wrong() -> None:
    old = shirt(size="XXL", replicas=1, tags=["x", "x"])
    assert custom().validate_update({**old, "metadata": {"name": "a", "labels": {"b": "c"}}}, old) == []
    assert messages(custom().validate_update(shirt(size="XL", replicas=1), old))[0][0] == "spec.size"


def test_only_the_status_is_judged_with_the_status() -> None:
    old = shirt(size="XXL", replicas=1)
    assert custom().validate_status(shirt(size="XXL", replicas=1, status={"replicas": 1}), old) == []
    faults = messages(custom().validate_status(shirt(size="XXL", replicas=1, status={"replicas": "x"}), old))
    assert faults[0] == (
        "status.replicas",
        'Invalid value: "string": status.replicas in body must be of type integer: "string"',
    )


def test_a_version_is_shown_and_selected_as_declared() -> None:
    version = custom()
    assert version.printer.cells(shirt(size="S"), 0) == ["a", "S"]
    assert version.selectable_fields.getter("spec.color") is not None
    assert version.selectable_fields.getter("spec.size") is None
    assert version.has_status
    assert version.scale == VERSION["subresources"]["scale"]
    assert version.openapi == SCHEMA
