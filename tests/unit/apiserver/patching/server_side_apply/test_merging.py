"""Merging a configuration into an object, and removing fields from one."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.patching.server_side_apply.merging import merged, without_fields
from bayplan.apiserver.patching.server_side_apply.shapes import Shape, shape_of
from bayplan.apiserver.schema.messages import message_of

Object = dict[str, Any]


def pod_shape() -> Shape:
    kind = message_of("v1", "Pod")
    assert kind is not None
    return shape_of(kind)


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ("abc", "b", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "xb", "axbc"),
        ("abc", "bx", "abcx"),
        ("abc", "xcya", "bxcya"),
        ("abcd", "db", "acdb"),
        ("", "ba", "ba"),
        ("ab", "", "ab"),
    ],
)
def test_items_come_in_the_order_applied_and_others_stay_in_theirs(live: str, applied: str, expected: str) -> None:
    def with_containers(names: str) -> Object:
        return {"spec": {"containers": [{"name": name} for name in names]}}

    assert merged(with_containers(live), with_containers(applied), pod_shape()) == with_containers(expected)


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ({"nodeName": "a"}, {"nodeName": "b"}, {"nodeName": "b"}),
        ({"nodeName": "a"}, {"nodeName": None}, {}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        ({"overhead": {"a": "1"}}, {"overhead": {"b": "2"}}, {"overhead": {"a": "1", "b": "2"}}),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"b": "2"}}, {"nodeSelector": {"b": "2"}}),
        ({}, {"affinity": {"podAffinity": None, "nodeAffinity": {}}}, {"affinity": {"nodeAffinity": {}}}),
        (
            {"containers": [{"name": "c", "image": "1", "tty": True}]},
            {"containers": [{"name": "c", "image": "2"}]},
            {"containers": [{"name": "c", "image": "2", "tty": True}]},
        ),
    ],
)
def test_values_of_the_configuration_win_and_others_stay(live: Object, applied: Object, expected: Object) -> None:
    assert merged({"spec": live}, {"spec": applied}, pod_shape()) == {"spec": expected}


@pytest.mark.parametrize(
    ("document", "fields", "expected"),
    [
        ({"nodeName": "a", "hostname": "h"}, {"f:nodeName": {}}, {"hostname": "h"}),
        ({"nodeName": "a"}, {"f:nodeName": {}}, {}),
        ({"overhead": {"a": "1", "b": "2"}}, {"f:overhead": {"f:a": {}}}, {"overhead": {"b": "2"}}),
        ({"overhead": {"a": "1"}}, {"f:overhead": {"f:a": {}}}, {}),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"f:containers": {'k:{"name":"a"}': {}}},
            {"containers": [{"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a", "tty": True}]},
            {"f:containers": {'k:{"name":"a"}': {"f:tty": {}}}},
            {"containers": [{"name": "a"}]},
        ),
        (
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]},
            {"f:containers": {'k:{"name":"a"}': {"f:resources": {}}}},
            {"containers": [{"name": "a", "resources": {}}]},
        ),
        ({"tolerations": [{"key": "a"}]}, {"f:tolerations": {}}, {}),
    ],
)
def test_removed(document: Object, fields: Object, expected: Object) -> None:
    assert without_fields({"spec": document}, {"f:spec": fields}, pod_shape()) == {"spec": expected}
