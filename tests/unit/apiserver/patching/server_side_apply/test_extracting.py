"""The fields that a configuration mentions, and what does not fit its type, in the server's words."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.patching.server_side_apply.extracting import faults_of, fields_of, with_named_fields
from bayplan.apiserver.patching.server_side_apply.shapes import Shape, shape_of
from bayplan.apiserver.schema.messages import message_of

Object = dict[str, Any]


def pod_shape() -> Shape:
    kind = message_of("v1", "Pod")
    assert kind is not None
    return shape_of(kind)


def test_leaves_entries_and_items_are_fields_and_what_only_holds_them_is_not() -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "1"}, "annotations": {}, "finalizers": ["x"]},
        "spec": {
            "affinity": {"podAffinity": {}},
            "nodeName": None,
            "volumes": [],
            "containers": [{"name": "c", "args": [], "ports": [{"containerPort": 80}]}],
        },
    }
    port = 'k:{"containerPort":80,"protocol":"TCP"}'
    container: Object = {".": {}, "f:args": {}, "f:name": {}, "f:ports": {port: {".": {}, "f:containerPort": {}}}}
    assert fields_of(document, pod_shape()) == {
        "f:metadata": {"f:annotations": {}, "f:finalizers": {'v:"x"': {}}, "f:labels": {"f:a": {}}},
        "f:spec": {
            "f:affinity": {"f:podAffinity": {}},
            "f:containers": {'k:{"name":"c"}': container},
            "f:nodeName": {},
        },
    }


def test_nobody_owns_the_metadata_as_such() -> None:
    assert fields_of({"metadata": {}, "spec": {}}, pod_shape()) == {"f:spec": {}}


def test_named_fields_join_the_set_and_entries_of_maps_do_not() -> None:
    fields: Object = {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:resources": {"f:limits": {"f:cpu": {}}}}}}}
    limits: Object = {".": {}, "f:cpu": {}}
    resources: Object = {".": {}, "f:limits": limits}
    expected = {"f:spec": {".": {}, "f:containers": {".": {}, 'k:{"name":"c"}': {"f:resources": resources}}}}
    assert with_named_fields(fields, pod_shape()) == expected


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ({"spec": {"nodeName": "n", "containers": [{"name": "c", "image": "x"}]}}, []),
        ({"spec": {"nodeName": None, "containers": None}}, []),
        ({"nope": 1, "spec": {"nope": 1}}, [".nope: field not declared in schema"]),
        ({"spec": {"nope": 1}}, [".spec.nope: field not declared in schema"]),
        (
            {"spec": {"containers": [{"name": "c", "nope": 1}]}},
            ['.spec.containers[name="c"].nope: field not declared in schema'],
        ),
        ({"spec": []}, [".spec: expected map, got &{[]}"]),
        ({"spec": {"containers": "x"}}, [".spec.containers: expected list, got &{x}"]),
        (
            {"spec": {"priority": "high", "nodeName": 1, "hostNetwork": "yes"}},
            [
                ".spec.hostNetwork: expected boolean, got &{yes}",
                ".spec.nodeName: expected string, got &value.valueUnstructured{Value:1}",
                ".spec.priority: expected numeric (int or float), got string",
            ],
        ),
        (
            {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}},
            ['.spec.containers: duplicate entries for key [name="c"]'],
        ),
        (
            {"spec": {"containers": ["c"]}},
            [".spec.containers: element 0: associative list with keys may not have non-map elements"],
        ),
        (
            {"spec": {"imagePullSecrets": [None]}},
            [".spec.imagePullSecrets: element 0: associative list with keys may not have a null element"],
        ),
        (
            {"metadata": {"finalizers": [{}]}},
            [".metadata.finalizers: element 0: associative list without keys has an element that's a map type"],
        ),
        (
            {"spec": {"overhead": {"cpu": 1, "memory": "1", "x": {}}}},
            [".spec.overhead.x: expected any scalar, got &{map[]}"],
        ),
        (
            {"spec": {"tolerations": [{"key": 1}]}},
            [".spec.tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}"],
        ),
    ],
)
def test_faults(document: Object, faults: list[str]) -> None:
    assert list(faults_of(document, pod_shape())) == faults
