"""What comes with a request: read, or refused with the real server's words."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, DEFINITIONS, PODS, TOYS, Api, config_map, pod, toy, toy_definition

from bayplan.apiserver.http.requests import Answer, Request, query_of, segments_of

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


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(("depth", "status"), [(200, 201), (300, 400), (950, 400)])
def test_objects_nest_so_deep_and_no_deeper(depth: int, status: int) -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition())
    # written as text: Python's encoder gives up at a depth that depends on who calls it
    spec = b'{"a": ' * depth + b"{}" + b"}" * depth
    body = json.dumps(toy(spec="SPEC")).encode().replace(b'"SPEC"', spec)
    assert api.call("POST", TOYS, body)[0] == status


def test_patches_do_not_make_them_deeper() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition())
    api.post(TOYS, toy(spec=nested(200)))
    deeper = [{"op": "copy", "from": "/spec", "path": "/spec" + "/a" * 199}]
    for _ in range(6):
        status, _ = api.call("PATCH", f"{TOYS}/t", deeper, "application/json-patch+json")
        assert status in (200, 400)
    assert api.answer("GET", f"{TOYS}/t", accept="application/yaml").status == 200


def test_a_flood_of_unknown_fields_gives_a_few_warnings() -> None:
    answer = Api().answer("POST", CONFIG_MAPS, {**config_map(), **{f"field{number}": 1 for number in range(90)}})
    assert answer.status == 201
    assert len(answer.headers) == 90
    long = {f"field{number}" + "x" * 300: 1 for number in range(90)}
    headers = Api().answer("POST", CONFIG_MAPS, {**config_map(), **long}).headers
    assert len(headers) == 16
    assert {len(value) for _, value in headers} == {256 + len('299 - ""') + 1}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_what_was_decoded_ahead_is_not_decoded_again(method: str) -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map())
    path, query = (CONFIG_MAPS, "") if method == "POST" else (f"{CONFIG_MAPS}/m", "fieldManager=x&force=true")
    body = json.dumps(config_map("n" if method == "POST" else "m", a="1")).encode()
    media = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
    request = Request(method, segments_of(path.encode()), query_of(query.encode()), {"content-type": media}, body)
    ahead = api.application._read_ahead(request)
    assert ahead.read_ahead.document["data"] == {"a": "1"}
    answer = api.application.answer(ahead._replace(body=b"not looked at"))
    assert isinstance(answer, Answer)
    assert answer.status in (200, 201)


def test_a_body_that_was_found_wrong_ahead_is_refused() -> None:
    api = Api()
    request = Request("POST", segments_of(CONFIG_MAPS.encode()), {}, {}, b"{")
    answer = api.application.answer(api.application._read_ahead(request))
    assert isinstance(answer, Answer)
    assert answer.status == 400
