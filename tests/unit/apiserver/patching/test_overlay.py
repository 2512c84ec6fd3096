"""A change seen through a narrow view, carried over to the whole object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.overlay import overlay
from bayplan.apiserver.schema.messages import message_of

POD = message_of("v1", "Pod")
Object = dict[str, Any]
PROBED = {"lastProbeTime": "t"}


def carried(full: Object, before: Object, after: Object) -> Object:
    inputs = copy.deepcopy((full, before, after))
    result = overlay(full, before, after, POD)
    assert (full, before, after) == inputs
    return result


def test_nothing_changed_is_the_same_document() -> None:
    full = {"spec": {"unknown": 1}}
    assert carried(full, {"spec": {"a": 1}}, {"spec": {"a": 1}}) is full


@pytest.mark.parametrize(
    ("full", "before", "after", "expected"),
    [
        ({"phase": "A", "hostIP": "1"}, {"phase": "A"}, {"phase": "B"}, {"phase": "B", "hostIP": "1"}),
        ({"phase": "Pending", "hostIP": "1"}, {"phase": "Pending"}, {}, {"hostIP": "1"}),
        ({"hostIP": "1"}, {}, {"phase": "Running"}, {"phase": "Running", "hostIP": "1"}),
        ({}, {}, {"conditions": [{"type": "Ready"}]}, {"conditions": [{"type": "Ready"}]}),
        (
            {"conditions": [{"type": "A", "status": "x", "lastProbeTime": "t"}, {"type": "B", "status": "x"}]},
            {"conditions": [{"type": "A", "status": "x"}, {"type": "B", "status": "x"}]},
            {"conditions": [{"type": "C"}, {"type": "B", "status": "x"}, {"type": "A", "status": "y"}]},
            {"conditions": [{"type": "C"}, {"type": "B", "status": "x"}, {"type": "A", "status": "y"} | PROBED]},
        ),
        (
            {"conditions": [{"type": "A", "lastProbeTime": "t"}]},
            {"conditions": [{"type": "A"}]},
            {"conditions": []},
            {"conditions": []},
        ),
        ({"conditions": [{"type": "A", "lastProbeTime": "t"}]}, {"conditions": [{"type": "A"}]}, {}, {}),
    ],
)
def test_a_status(full: Object, before: Object, after: Object, expected: Object) -> None:
    assert carried({"status": full}, {"status": before}, {"status": after}) == {"status": expected}


def test_a_number_that_becomes_zero_is_shown_where_the_type_always_shows_it() -> None:
    budget = message_of("policy/v1", "PodDisruptionBudget")
    before: Object = {"status": {"disruptionsAllowed": 1}}
    assert overlay(before, before, {"status": {}}, budget) == {"status": {"disruptionsAllowed": 0}}


def test_an_object_that_becomes_empty_in_the_view_keeps_what_the_view_does_not_show() -> None:
    full = {"spec": {"securityContext": {"fsGroup": 1, "runAsUser": 2}}}
    narrow = {"spec": {"securityContext": {"fsGroup": 1}}}
    assert carried(full, narrow, {"spec": {}}) == {"spec": {"securityContext": {"runAsUser": 2}}}
    only_shown = {"spec": {"securityContext": {"fsGroup": 1}}}
    assert carried(only_shown, narrow, {"spec": {}}) == {"spec": {}}


def test_ports_are_told_apart_by_number_and_protocol() -> None:
    ports: list[Object] = [
        {"containerPort": 53, "name": "tcp"},
        {"containerPort": 53, "protocol": "UDP", "name": "udp"},
    ]
    before: list[Object] = [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]
    after: list[Object] = [
        {"containerPort": 53, "protocol": "UDP", "hostPort": 1},
        {"containerPort": 53, "protocol": "TCP"},
    ]

    def with_ports(items: list[Object]) -> Object:
        return {"spec": {"containers": [{"name": "c", "ports": items}]}}

    expected = [
        {"containerPort": 53, "protocol": "UDP", "name": "udp", "hostPort": 1},
        {"containerPort": 53, "protocol": "TCP", "name": "tcp"},
    ]
    assert carried(with_ports(ports), with_ports(before), with_ports(after)) == with_ports(expected)


def test_items_without_a_key_match_by_content_then_by_position() -> None:
    full = [{"key": "a", "secret": 1}, {"key": "b", "secret": 2}, {"key": "c", "secret": 3}]
    before = [{"key": "a"}, {"key": "b"}, {"key": "c"}]

    def with_tolerations(items: list[Object]) -> Object:
        return {"spec": {"tolerations": items}}

    gone = carried(with_tolerations(full), with_tolerations(before), with_tolerations([{"key": "b"}, {"key": "c"}]))
    assert gone == with_tolerations(full[1:])
    after = [{"key": "a"}, {"key": "x"}, {"key": "c"}, {"key": "d"}]
    changed = carried(with_tolerations(full), with_tolerations(before), with_tolerations(after))
    assert changed == with_tolerations([full[0], {"key": "x", "secret": 2}, full[2], {"key": "d"}])


def test_lists_of_scalars_and_maps_follow_the_view() -> None:
    full = {"metadata": {"labels": {"a": "1"}, "finalizers": ["x", "y"]}, "spec": {"other": 1}}
    before = {"metadata": {"labels": {"a": "1"}, "finalizers": ["x", "y"]}}
    after = {"metadata": {"labels": {"b": "2"}, "finalizers": ["y"]}}
    assert carried(full, before, after) == {**after, "spec": {"other": 1}}


def test_a_pod_from_a_template_keeps_all_of_the_template() -> None:
    template = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "c", "livenessProbe": {"x": 1}}]}}
    narrow = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "c"}]}}
    made = {"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {"containers": [{"name": "c"}], "nodeName": "n"}}
    assert carried(template, narrow, made) == {
        "metadata": {"name": "p", "labels": {"a": "1"}},
        "spec": {"containers": [{"name": "c", "livenessProbe": {"x": 1}}], "nodeName": "n"},
    }


# -- random pods and a view of some of their fields

SHOWN = {
    "spec",
    "containers",
    "name",
    "image",
    "ports",
    "containerPort",
    "tolerations",
    "key",
    "nodeSelector",
    "a",
    "b",
}
PORTS = st.lists(
    st.fixed_dictionaries({"containerPort": st.sampled_from([1, 2])}, optional={"hostIP": st.just("h")}),
    max_size=2,
    unique_by=lambda one: one["containerPort"],
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc")},
        optional={"image": st.sampled_from("12"), "ports": PORTS, "stdin": st.just(True)},
    ),
    max_size=3,
    unique_by=lambda one: one["name"],
)
SPECS = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={
        "hostname": st.just("h"),
        "nodeSelector": st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
        "tolerations": st.lists(st.fixed_dictionaries({"key": st.sampled_from("ab")}), max_size=3),
    },
).map(lambda spec: {"spec": spec})


def view(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: view(member) for name, member in value.items() if name in SHOWN}
    return [view(item) for item in value] if isinstance(value, list) else value


@given(SPECS, SPECS)
def test_afterwards_the_view_is_as_wanted_and_the_rest_as_before(full: Object, target: Object) -> None:
    result = carried(full, view(full), view(target))
    assert view(result) == view(target)
    assert result["spec"].get("hostname") == full["spec"].get("hostname")
    hidden = {item["name"]: item.get("stdin") for item in full["spec"]["containers"]}
    for item in result["spec"]["containers"]:
        assert item.get("stdin") == hidden.get(item["name"])
