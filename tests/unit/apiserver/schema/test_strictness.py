"""Unknown fields, fields given twice and wrong types, in the words of a real server."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.strictness import NO_FAULTS, check
from bayplan.apiserver.schema.type_faults import TypeFaults

POD = {"apiVersion": "v1", "kind": "Pod"}


def faults_of(text: str | bytes) -> TypeFaults:
    document = json.loads(text)
    whole = message_of(document["apiVersion"], document["kind"])
    assert whole is not None
    return check(document, whole, text if isinstance(text, bytes) else text.encode())


def faults_of_pod(**fields: Any) -> TypeFaults:
    return faults_of(json.dumps({**POD, **fields}))


def config_map(fields: str) -> str:
    return f'{{"apiVersion":"v1","kind":"ConfigMap",{fields}}}'


def test_a_good_document_has_no_fault() -> None:
    spec = {
        "containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "ports": None}],
        "priority": 2**31 - 1,
        "tolerations": [None],
    }
    assert faults_of_pod(metadata={"creationTimestamp": None, "labels": {"a": None}}, spec=spec) is NO_FAULTS


def test_unknown_fields_are_named_with_their_paths_in_the_order_of_the_text() -> None:
    spec = {"containers": [{"name": "c"}, {"name": "d", "imagee": 1}], "nope": {"deep": 1}}
    assert faults_of_pod(spec=spec, metadata={"Name": "x"}).strict == (
        'unknown field "spec.containers[1].imagee"',
        'unknown field "spec.nope"',
        'unknown field "metadata.Name"',
    )


@pytest.mark.parametrize(
    ("fields", "strict"),
    [
        ('"data":{"a":"1"},"data":{"a":"2"}', ['duplicate field "data"']),
        ('"data":{"a":"1","a":"2"}', ['duplicate field "data.a"']),
        ('"data" : {"a":"1"},"data":{"a":"2"}', ['duplicate field "data"']),
        ('"nope":1,"nope":2', ['unknown field "nope"']),
        ('"data":{"a":"\\":{\\"b\\":"},"immutable":true', []),
        ('"data":{"a" : "1"}', []),
    ],
)
def test_fields_given_twice_are_found_in_the_text(fields: str, strict: list[str]) -> None:
    assert list(faults_of(config_map(fields)).strict) == strict


def test_without_the_text_only_unknown_fields_are_found() -> None:
    document = json.loads(config_map('"nope":1,"data":{},"data":{}'))
    whole = message_of("v1", "ConfigMap")
    assert whole is not None
    assert check(document, whole).strict == ('unknown field "nope"',)


def test_at_most_a_hundred_strict_faults_are_reported() -> None:
    fields = ",".join(f'"x{number}":1' for number in range(200))
    assert len(faults_of(config_map(fields)).strict) == 100


INTO = "json: cannot unmarshal "


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"containers": "x"}, "string into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ({"containers": [3]}, "number into Go struct field PodSpec.spec.containers of type v1.Container"),
        ({"nodeSelector": []}, "array into Go struct field PodSpec.spec.nodeSelector of type map[string]string"),
        ({"nodeSelector": {"a": True}}, "bool into Go struct field PodSpec.spec.nodeSelector of type string"),
        ({"priority": 1.5}, "number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": 2**31}, "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": {}}, "object into Go struct field PodSpec.spec.priority of type int32"),
        ({"hostNetwork": "yes"}, "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        ({"restartPolicy": 1}, "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy"),
        ({"overhead": []}, "array into Go struct field PodSpec.spec.overhead of type v1.ResourceList"),
        (
            {"volumes": [{"emptyDir": 3}]},
            "number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            {"containers": [{"livenessProbe": {"httpGet": {"port": 1.5}}}]},
            "number 1.5 into Go struct field "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
    ],
)
def test_a_wrong_type_is_named_as_go_does(spec: dict[str, Any], fault: str) -> None:
    assert faults_of_pod(spec=spec).wrong_type == INTO + fault


def test_the_first_wrong_type_counts_unless_a_type_that_decodes_itself_fails_too() -> None:
    first, second = {"priority": "x", "restartPolicy": 1}, {"priority": "x", "overhead": {"cpu": "1x"}}
    assert "spec.priority" in faults_of_pod(spec=first).wrong_type
    assert faults_of_pod(spec=second).wrong_type.startswith("quantities must match")


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (
            {**POD, "metadata": {"creationTimestamp": "abc"}},
            'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
        ),
        (
            {**POD, "metadata": {"creationTimestamp": 5}},
            INTO + "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        ({"apiVersion": "v1", "kind": "Secret", "data": {"a": "a!b="}}, "illegal base64 data at input byte 1"),
        ({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YWJjYQ"}}, "illegal base64 data at input byte 4"),
        ({**POD, "spec": {"overhead": {"cpu": {}}}}, "quantities must match the regular expression "),
        ({**POD, "metadata": []}, INTO + "array into Go struct field Pod.metadata of type v1.ObjectMeta"),
    ],
)
def test_times_bytes_and_quantities_have_words_of_their_own(document: dict[str, Any], fault: str) -> None:
    assert faults_of(json.dumps(document)).wrong_type.startswith(fault)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], ""),
        ([0, 255, None], ""),
        ([300], "number 300"),
        ([-1], "number -1"),
        ([1.5], "number 1.5"),
        (["x"], "string"),
        ([True], "bool"),
    ],
)
def test_bytes_may_be_written_one_by_one(value: list[Any], fault: str) -> None:
    expected = f"{INTO}{fault} into Go struct field Secret.data of type uint8" if fault else ""
    found = faults_of(json.dumps({"apiVersion": "v1", "kind": "Secret", "data": {"a": value}}))
    assert found.wrong_type == expected


def test_what_may_be_any_json_is_not_looked_into() -> None:
    document = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"managedFields": [{"fieldsV1": {"f:spec": {".": {}}}}]},
        "data": {"anything": [1, {"x": None}]},
        "revision": 1,
    }
    assert faults_of(json.dumps(document)) is NO_FAULTS


def test_recorded_refusals_have_the_same_words(recordings: Path) -> None:
    """Every body that the real server refused for a field or a type."""
    checked = 0
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        for line in lines:
            exchange = json.loads(line)
            body, answer = exchange["request"].get("body"), exchange["response"].get("body")
            said = answer.get("message", "") if isinstance(answer, dict) else ""
            words = said.partition(" cannot be handled as a ")[2].partition(": ")[2]
            # Recorded bodies were parsed: keys given twice are lost.
            if not words.startswith(("json: ", "strict ", "quantities ")) or "duplicate" in words:
                continue
            faults = faults_of(json.dumps(body))
            strict = "strict decoding error: " + ", ".join(faults.strict)
            assert (faults.wrong_type or strict) == words
            checked += 1
    assert checked >= 4
