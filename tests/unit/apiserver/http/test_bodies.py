"""What comes with a request: read, or refused with the real server's words."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, PODS, Api, config_map, pod

PROTOBUF, YAML = "application/vnd.kubernetes.protobuf", "application/yaml"
#: A ConfigMap named "m" with a = 1, as a Go client encodes it.
IN_PROTOBUF = base64.b64decode("azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhkKDwoBbRIAGgAiACoAMgA4ABIGCgFhEgExGgAiAA==")
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NO_JSON = UNRECOGNIZED + "couldn't get version/kind; json parse error: "
NO_PROTOBUF = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"


@pytest.mark.parametrize(
    ("media", "body", "fault"),
    [
        (
            "application/json",
            b"{not",
            NO_JSON + "invalid character 'n' looking for beginning of object key string ({not)",
        ),
        ("application/json", b"", NO_JSON + "unexpected end of JSON input (<empty>)"),
        (
            "application/json",
            b'{"kind": "Con\xff", "metadata": 12',
            NO_JSON + 'unexpected end of JSON input ({"kind": "Con\ufffd", "metadata": 1 ...)',
        ),
        (
            "application/json",
            b'{"apiVersion": {"v1": 1}}',
            NO_JSON + "json: cannot unmarshal object into Go struct field .apiVersion of type string "
            '({"apiVersion": {"v1": 1}})',
        ),
        (
            YAML,
            b"kind: 5",
            NO_JSON + "json: cannot unmarshal number into Go struct field .kind of type string (6b696e643a2035)",
        ),
        (YAML, b"a: [", "error converting YAML to JSON: yaml: line 1: did not find expected node content"),
        (YAML, b"a: &a [*a]", "error converting YAML to JSON: yaml: line 1, column 8: alias 'a' is not defined above"),
        (PROTOBUF, b"{}", UNRECOGNIZED + NO_PROTOBUF + " ({})"),
        (PROTOBUF, b"k8s\0\xff\xff\xff", UNRECOGNIZED + "unexpected EOF (6b387300ffffff)"),
        (
            PROTOBUF,
            IN_PROTOBUF.replace(b"\x12\x00", b"\x12\x7f", 1),
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
        ),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(media: str, body: bytes, fault: str) -> None:
    assert Api().refusal("POST", CONFIG_MAPS, body, media) == (400, fault)


@pytest.mark.parametrize(("media", "body"), [(PROTOBUF, IN_PROTOBUF), (YAML, b"metadata: {name: m}\ndata: {a: '1'}")])
def test_a_body_is_read_in_every_format(media: str, body: bytes) -> None:
    status, stored = Api().call("POST", CONFIG_MAPS, body, media)
    assert (status, stored["data"]) == (201, {"a": "1"})


def test_a_format_that_nobody_knows_is_refused() -> None:
    status, fault = Api().refusal("POST", CONFIG_MAPS, b"<a/>", "application/xml")
    assert (status, fault.partition(" - ")[0]) == (415, "the body of the request was in an unknown format")


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"),
        (
            {"labels": ["a"]},
            "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            {"labels": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"managedFields": "mine"},
            "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.managedFields "
            "of type []v1.ManagedFieldsEntry",
        ),
        (
            {"ownerReferences": [7]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.ownerReferences "
            "of type v1.OwnerReference",
        ),
        ([], "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
    ],
)
def test_wrong_types_in_metadata_are_refused(metadata: Any, fault: str) -> None:
    body = {**config_map(), "metadata": metadata}
    status, words = Api().refusal("POST", CONFIG_MAPS, body)
    assert (status, words) == (400, f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {fault}')


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_body_nested_too_deeply_is_refused(opening: bytes) -> None:
    status, _ = Api().refusal("POST", CONFIG_MAPS, opening * 100_000)
    assert status == 400


@pytest.mark.parametrize(
    "text",
    [
        b"a: " + b"[" * 100_000,
        b"".join(b" " * depth + b"a:\n" for depth in range(1_200)),
        b"a: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c]\n" % (c, c, *[c - 1] * 7) for c in range(98, 120)),
    ],
)
def test_yaml_that_would_grow_without_bound_is_refused(text: bytes) -> None:
    status, _ = Api().refusal("POST", CONFIG_MAPS, text, YAML)
    assert status == 400


@pytest.mark.parametrize(
    ("api_version", "kind", "why"),
    [
        ("v1", "Nope", 'no kind "Nope" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'),
        ("v1", "Pod", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
    ],
)
def test_an_object_of_another_kind_is_refused(api_version: str, kind: str, why: str) -> None:
    body = {**config_map(), "apiVersion": api_version, "kind": kind}
    fault = f'{kind} in version "v1" cannot be handled as a ConfigMap: {why}'
    assert Api().refusal("POST", CONFIG_MAPS, body) == (400, fault)


@pytest.mark.parametrize(
    ("validation", "status", "warnings"),
    [
        ("Strict", 400, ()),
        ("Warn", 201, (("warning", '299 - "unknown field \\"spec.nope\\""'),)),
        ("Ignore", 201, ()),
    ],
)
def test_unknown_fields_are_refused_warned_of_or_dropped(
    validation: str, status: int, warnings: tuple[tuple[str, str], ...]
) -> None:
    body = pod()
    body["spec"]["nope"] = 1
    answer = Api().answer("POST", f"{PODS}?fieldValidation={validation}", body)
    assert (answer.status, answer.headers, b"nope" in answer.body) == (status, warnings, status == 400)
