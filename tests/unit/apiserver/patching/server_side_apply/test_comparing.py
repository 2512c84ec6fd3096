"""What a change touched, by type: which fields, which items, and where the field itself counts."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.patching.server_side_apply.comparing import compare
from bayplan.apiserver.patching.server_side_apply.list_items import Untypable
from bayplan.apiserver.patching.server_side_apply.shapes import Shape, shape_of, shape_of_custom
from bayplan.apiserver.schema.messages import message_of

Object = dict[str, Any]


def shape(api_version: str, kind: str) -> Shape:
    found = message_of(api_version, kind)
    assert found is not None
    return shape_of(found)


def compared(old: Object, new: Object, *, kind: str = "v1/Pod") -> tuple[Object, Object]:
    api_version, _, name = kind.rpartition("/")
    comparison = compare(old, new, shape(api_version, name))
    return comparison.changed, comparison.removed


NEW_CONTAINER: Object = {".": {}, "f:name": {}, "f:resources": {}}
SPEC_FIELDS: list[tuple[Object, Object, Object, Object]] = [
    ({}, {"nodeName": "n"}, {"f:nodeName": {}}, {}),
    ({"nodeName": "n"}, {"nodeName": "m"}, {"f:nodeName": {}}, {}),
    ({"nodeName": "n"}, {}, {}, {"f:nodeName": {}}),
    ({"nodeName": "n"}, {"nodeName": None}, {}, {"f:nodeName": {}}),
    # An object that may be absent counts itself when it comes or goes ...
    ({}, {"affinity": {"nodeAffinity": {}}}, {"f:affinity": {".": {}, "f:nodeAffinity": {}}}, {}),
    ({"affinity": {"nodeAffinity": {}}}, {}, {}, {"f:affinity": {".": {}, "f:nodeAffinity": {}}}),
    ({"affinity": {}}, {"affinity": {"nodeAffinity": {}}}, {"f:affinity": {"f:nodeAffinity": {}}}, {}),
    ({}, {"securityContext": {}}, {"f:securityContext": {}}, {}),
    # ... one that every object has does not.
    ({}, {"containers": [{"name": "c", "resources": {}}]}, {"f:containers": {'k:{"name":"c"}': NEW_CONTAINER}}, {}),
    # Lists: by key, as a whole, as a set.
    (
        {"containers": [{"name": "a", "image": "1", "resources": {}}, {"name": "b", "image": "1", "resources": {}}]},
        {"containers": [{"name": "b", "image": "2", "resources": {}}, {"name": "a", "image": "1", "resources": {}}]},
        {"f:containers": {'k:{"name":"b"}': {"f:image": {}}}},
        {},
    ),
    ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"f:tolerations": {}}, {}),
    # Maps: by entry; atomic ones as a whole.
    ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "2"}}, {"f:nodeSelector": {}}, {}),
    ({"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "2", "x": "1"}}, {"f:overhead": {"f:cpu": {}, "f:x": {}}}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "changed", "removed"), SPEC_FIELDS)
def test_fields_of_a_pod_spec(old: Object, new: Object, changed: Object, removed: Object) -> None:
    expected = tuple({"f:spec": node} if node else {} for node in (changed, removed))
    assert compared({"spec": old}, {"spec": new}) == expected


def test_an_object_that_is_always_there_is_never_added_itself() -> None:
    changed, _ = compared({}, {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}})
    assert changed == {"f:spec": {"f:nodeName": {}}, "f:status": {"f:phase": {}}}


def test_a_value_that_stands_for_absent_is_no_change() -> None:
    assert compared({}, {"value": 0}, kind="scheduling.k8s.io/v1/PriorityClass") == ({}, {})
    assert compared({}, {"value": 1}, kind="scheduling.k8s.io/v1/PriorityClass") == ({"f:value": {}}, {})


def test_items_that_are_new_own_what_the_server_shows_of_them() -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    changed, _ = compared({"status": {}}, {"status": {"conditions": conditions}})
    names = [".", "f:lastProbeTime", "f:lastTransitionTime", "f:status", "f:type"]
    assert changed["f:status"]["f:conditions"] == {".": {}, 'k:{"type":"Ready"}': {name: {} for name in names}}


def test_ports_without_a_protocol_are_tcp() -> None:
    port = {"containerPort": 80}
    old = {"spec": {"containers": [{"name": "c", "ports": [port]}]}}
    new = {"spec": {"containers": [{"name": "c", "ports": [{**port, "protocol": "TCP", "name": "web"}]}]}}
    changed, removed = compared(old, new)
    node = changed["f:spec"]["f:containers"]['k:{"name":"c"}']["f:ports"]
    assert node == {'k:{"containerPort":80,"protocol":"TCP"}': {"f:name": {}, "f:protocol": {}}}
    assert removed == {}


def test_finalizers_are_a_set() -> None:
    changed, removed = compared({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["c", "b"]}})
    assert changed == {"f:metadata": {"f:finalizers": {'v:"c"': {}}}}
    assert removed == {"f:metadata": {"f:finalizers": {'v:"a"': {}}}}


def test_what_the_server_keeps_for_itself_is_nobodys() -> None:
    metadata = {"name": "p", "uid": "u", "resourceVersion": "1", "generation": 1, "managedFields": [{}]}
    assert compared({}, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}) == ({}, {})


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        (["A", "B"], ["A", "B", "B"], {'k:{"name":"B"}': {}}, {'k:{"name":"B"}': {".": {}, "f:name": {}}}),
        (["B", "B"], ["B"], {'k:{"name":"B"}': {".": {}, "f:name": {}}}, {'k:{"name":"B"}': {}}),
        (["B", "B"], ["B", "B", "B"], {'k:{"name":"B"}': {}}, {}),
        (["B", "B"], ["B", "B"], {}, {}),
        (["B", "B"], ["A"], {'k:{"name":"A"}': {".": {}, "f:name": {}}}, {'k:{"name":"B"}': {}}),
        (["A"], ["A", "B", "B"], {'k:{"name":"B"}': {}}, {}),
    ],
)
def test_items_of_equal_keys_are_owned_together(
    old: list[str], new: list[str], changed: Object, removed: Object
) -> None:
    def with_env(names: list[str]) -> Object:
        return {"spec": {"containers": [{"name": "c", "env": [{"name": name} for name in names]}]}}

    def expected(node: Object) -> Object:
        return {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:env": node}}}} if node else {}

    assert compared(with_env(old), with_env(new)) == (expected(changed), expected(removed))


@pytest.mark.parametrize("item", [None, "c", ["c"]])
def test_items_that_cannot_have_a_key_cannot_be_compared(item: Any) -> None:
    with pytest.raises(Untypable):
        compared({}, {"spec": {"containers": [item]}})


def test_custom_objects_without_a_schema_split_by_name_only() -> None:
    new = {"metadata": {"labels": {"a": "1"}}, "spec": {"size": 1, "list": [{"name": "x"}], "empty": {}}}
    changed = compare({}, new, shape_of_custom(None)).changed
    assert changed == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:empty": {}, "f:list": {}, "f:size": {}},
    }


def test_custom_objects_split_as_their_schema_says() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "on": {"type": "boolean", "default": True}}}
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "parts": {
                        "type": "array",
                        "items": item,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name", "on"],
                    },
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {}},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
            }
        },
    }
    spec = {"parts": [{"name": "p"}], "tags": ["t"], "whole": {"a": 1}, "any": {"b": {"c": 1}}, "map": {"d": 1}}
    changed = compare({}, {"spec": spec}, shape_of_custom(schema)).changed
    assert changed["f:spec"] == {
        ".": {},
        "f:any": {".": {}, "f:b": {".": {}, "f:c": {}}},
        "f:map": {".": {}, "f:d": {}},
        "f:parts": {".": {}, 'k:{"name":"p","on":true}': {".": {}, "f:name": {}}},
        "f:tags": {".": {}, 'v:"t"': {}},
        "f:whole": {},
    }
