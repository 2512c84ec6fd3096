"""Protobuf bodies that a Go client encoded, and broken ones."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from bayplan.apiserver.schema.messages import GROUPS, message, message_names
from bayplan.apiserver.schema.protobuf import PREFIX, UndecodableBody, decode
from bayplan.apiserver.schema.protobuf_types import class_of

SECRET = (
    "azhzAAoMCgJ2MRIGU2VjcmV0EisKEQoBcxIAGgAiACoAMgA4AEIAEgcKAWESAgABEgUKAWISABoGT3BhcXVlGgAiAA==",
    {"metadata": {"name": "s"}, "data": {"a": "AAE=", "b": ""}, "type": "Opaque"},
)
SERVICE = (
    "azhzAAoNCgJ2MRIHU2VydmljZRJSChEKAXcSABoAIgAqADIAOABCABI5ChQKABIAGFAiCggBEAAaBGh0dHAoAAoRCgASABhRIgcIABCRPxoAKAAa"
    "ACIAOgBCAFIAWgBgAGgAGgIKABoAIgA=",
    {
        "metadata": {"name": "w"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8081}]},
        "status": {"loadBalancer": {}},
    },
)
QUOTA = (
    "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI/ChkKAXESABoAIgAqADIAOABCCAjA3ffLBhAAEiAKDQoDY3B1EgYKBDUwMG0KDwoGbWVtb3J5EgUK"
    "AzFHaRoAGgAiAA==",
    {
        "metadata": {"name": "q", "creationTimestamp": "2026-01-31T12:00:00Z"},
        "spec": {"hard": {"cpu": "500m", "memory": "1Gi"}},
        "status": {},
    },
)
LEASE = (
    "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRIjChEKAWwSABoAIgAqADIAOABCABIOEAAiCgjA3ffLBhDAqQcaACIA",
    {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": 0, "renewTime": "2026-01-31T12:00:00.000120Z"}},
)
POD = (
    "azhzAAoJCgJ2MRIDUG9kEpEBChEKAXASABoAIgAqADIAOABCABJnCgkKAXYSBBICCgASOAoBYxIBeCoAQgBSHAoQEg4KABIGCAAQARoAGgAiABAA"
    "GAAgACgAMABqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAKgBAMIBAMgBABoTCgAaACIAKgAyAEoAWgByAIgBABoAIgA=",
    {
        "metadata": {"name": "p"},
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [
                {"name": "c", "image": "x", "resources": {}, "livenessProbe": {"httpGet": {"port": 1}}},
            ],
            "automountServiceAccountToken": False,
            "priority": 0,
        },
        "status": {},
    },
)
REVIEW = (
    "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EigKEAoAEgAaACIAKgAyADgAQgASFAoSCgF1EgAiCwoB"
    "axIGCgFhCgFiGgAiAA==",
    {"metadata": {}, "status": {"userInfo": {"username": "u", "extra": {"k": ["a", "b"]}}}},
)
REVISION = (
    "azhzAAodCgdhcHBzL3YxEhJDb250cm9sbGVyUmV2aXNpb24SUwo5CgFyEgAaACIAKgAyADgAQgCKASUKAW0SABoAMghGaWVsZHNWMToQCg57ImY6"
    "ZGF0YSI6IHt9fUIAEhQKEnsic3BlYyI6IHsiYSI6IDF9fRgDGgAiAA==",
    {
        "metadata": {
            "name": "r",
            "managedFields": [{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}],
        },
        "data": {"spec": {"a": 1}},
        "revision": 3,
    },
)
DEFINITION = (
    "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEp0DChcKB2MuZS5jb20SABoAIgAqADIAOABC"
    "ABLzAgoFZS5jb20aCgoBYxIAIgFDKgAiCk5hbWVzcGFjZWQ6zwIKAnYxEAEYASLCAgq/AgoAEgAiACoGb2JqZWN0MgA6AEIMCgp7ImEiOiBbMV19"
    "SQAAAAAAAPg/UABgAHoAkAEAwgEmCiQKABIAIgAqBnN0cmluZzIAOgBQAGAAegCQAQCoAgC4AgDAAgDqAZkBCgFwEpMBCgASACIAKgAyADoAUABg"
    "AHoAkAEAwgEmEiQKABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQCoAgC4AgDAAgDiAR4KABIAIgAqADIAOgBQAGAAegCQAQCoAgC4AgDAAgDyASgI"
    "ARIkCgASACIAKgZzdHJpbmcyADoAUABgAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIA8gECCAGCAggKAWESAxIBYoICKwoBYxImCiQKABIAIgAqBm9i"
    "amVjdDIAOgBQAGAAegCQAQCoAgC4AgDAAgCoAgC4AgDAAgA4AFAAGgwSCAoAEgAiACoAIAAaACIA",
    {
        "metadata": {"name": "c.e.com"},
        "spec": {
            "group": "e.com",
            "names": {"plural": "c", "kind": "C"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "default": {"a": [1]},
                            "maximum": 1.5,
                            "items": {"type": "string"},
                            "properties": {
                                "p": {
                                    "items": [{"type": "object"}],
                                    "not": {},
                                    "additionalProperties": {"type": "string"},
                                }
                            },
                            "additionalProperties": True,
                            "dependencies": {"a": ["b"], "c": {"type": "object"}},
                        }
                    },
                }
            ],
        },
        "status": {"acceptedNames": {"plural": "", "kind": ""}},
    },
)


@pytest.mark.parametrize(
    ("api_version", "kind", "encoded", "fields"),
    [
        ("v1", "Secret", *SECRET),
        ("v1", "Service", *SERVICE),
        ("v1", "ResourceQuota", *QUOTA),
        ("coordination.k8s.io/v1", "Lease", *LEASE),
        ("v1", "Pod", *POD),
        ("authentication.k8s.io/v1", "SelfSubjectReview", *REVIEW),
        ("apps/v1", "ControllerRevision", *REVISION),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", *DEFINITION),
    ],
)
def test_a_body_decodes_to_its_json_form(api_version: str, kind: str, encoded: str, fields: dict[str, Any]) -> None:
    document = decode(base64.b64decode(encoded))
    assert document == {"apiVersion": api_version, "kind": kind, **fields}
    assert list(document)[:2] == ["apiVersion", "kind"]


def envelope(api_version: str, kind: str, raw: bytes = b"") -> bytes:
    unknown: Any = class_of("special.Unknown")()
    unknown.f1.f1, unknown.f1.f2, unknown.f2 = api_version, kind, raw
    serialized: bytes = unknown.SerializeToString()
    return PREFIX + serialized


def test_a_body_that_does_not_name_its_kind_has_the_kind_of_the_request() -> None:
    assert decode(envelope("", ""), "v1", "ConfigMap") == {"apiVersion": "v1", "kind": "ConfigMap"}


def test_options_of_a_deletion_are_of_any_group_version() -> None:
    options: Any = class_of("meta.v1.DeleteOptions")()
    field = message("meta.v1.DeleteOptions").fields["gracePeriodSeconds"]
    setattr(options, f"f{field.number}", 0)
    document = decode(envelope("apps/v1", "DeleteOptions", options.SerializeToString()))
    assert document == {"apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("body", "why", "kind"),
    [
        (b"", "empty data", ""),
        (
            b'{"kind":"Pod"}',
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            "",
        ),
        (PREFIX, "empty body", ""),
        (PREFIX + b"\x0a\xff", "unexpected EOF", ""),
        (envelope("v1", "Pod", b"\x0a\xff"), "unexpected EOF", "Pod"),
        (
            envelope("example.com/v1", "CronTab"),
            'no kind "CronTab" is registered for version "example.com/v1"',
            "CronTab",
        ),
    ],
)
def test_a_broken_body_is_refused_with_the_servers_words(body: bytes, why: str, kind: str) -> None:
    with pytest.raises(UndecodableBody) as refused:
        decode(body)
    assert (str(refused.value), refused.value.kind) == (why, kind)


def test_text_that_is_not_utf_8_is_replaced() -> None:
    document = decode(envelope("v1", "ConfigMap", b"\x0a\x04\x0a\x02a\xfe"))
    assert document["metadata"] == {"name": "a\ufffd"}


def test_a_value_of_a_map_that_is_not_utf_8_is_replaced_and_such_a_key_refused() -> None:
    value, key = b"\x12\x07\x0a\x01b\x12\x02c\xfe", b"\x12\x07\x0a\x02b\xfe\x12\x01c"
    assert decode(envelope("v1", "ConfigMap", value))["data"] == {"b": "c\ufffd"}
    with pytest.raises(UndecodableBody):
        decode(envelope("v1", "ConfigMap", key))


def test_json_inside_that_is_none_is_refused() -> None:
    revision: Any = class_of("apps.v1.ControllerRevision")()
    revision.f2.f1 = b"{"
    with pytest.raises(UndecodableBody):
        decode(envelope("apps/v1", "ControllerRevision", revision.SerializeToString()))


def test_an_object_inside_an_object_may_be_protobuf_too() -> None:
    outer: Any = class_of("apps.v1.ControllerRevision")()
    outer.f2.f1 = base64.b64decode(SECRET[0])
    decoded = decode(envelope("apps/v1", "ControllerRevision", outer.SerializeToString()))
    assert decoded["data"] == {"apiVersion": "v1", "kind": "Secret", **SECRET[1]}


@pytest.mark.parametrize("prefix", [f"{name}.v1" for name in GROUPS.values()])
def test_every_type_can_be_decoded(prefix: str) -> None:
    for name in message_names(prefix):
        kind = name.rpartition(".")[2]
        group = next(group for group, first in GROUPS.items() if first == prefix.partition(".")[0])
        api_version = f"{group}/v1" if group else "v1"
        assert decode(envelope(api_version, kind)) == {"apiVersion": api_version, "kind": kind}
