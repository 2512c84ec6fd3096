"""What remains of a document that a server has read and written."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.wire_form import in_wire_form

POD: dict[str, Any] = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}]}}


def _spec(**more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = in_wire_form({**POD, "spec": {**POD["spec"], **more}}, "core.v1.Pod")["spec"]
    return spec


@pytest.mark.parametrize(
    "given",
    [
        {"hostNetwork": False},
        {"nodeName": ""},
        {"volumes": []},
        {"nodeSelector": {}},
        {"affinity": None},
        {"unknown": 1},
    ],
)
def test_zero_values_nulls_and_unknown_fields_go(given: dict[str, Any]) -> None:
    assert _spec(**given) == _spec()


@pytest.mark.parametrize(
    "given",
    [{"terminationGracePeriodSeconds": 0}, {"enableServiceLinks": False}, {"securityContext": {}}],
)
def test_pointers_are_kept_whatever_they_hold(given: dict[str, Any]) -> None:
    assert _spec(**given) == {**_spec(), **given}


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ({"nodeSelector": {"disk": None}}, {"nodeSelector": {"disk": ""}}),
        ({"overhead": {"cpu": None}}, {"overhead": {"cpu": "0"}}),
        ({"tolerations": [None]}, {"tolerations": [{}]}),
    ],
)
def test_null_among_others_is_the_zero_of_their_type(given: dict[str, Any], read_as: dict[str, Any]) -> None:
    assert _spec(**given) == {**_spec(), **read_as}


def test_null_among_bytes_is_none_of_them() -> None:
    assert in_wire_form({"binaryData": {"a": None}}, "core.v1.ConfigMap")["binaryData"] == {"a": ""}


@pytest.mark.parametrize(("given", "text"), [([], ""), ([97, None, 255], "YQD/"), ("YQ==", "YQ==")])
def test_bytes_are_written_as_text(given: Any, text: str) -> None:
    assert in_wire_form({"binaryData": {"a": given}}, "core.v1.ConfigMap")["binaryData"] == {"a": text}


def test_what_a_type_always_shows_is_added() -> None:
    written = in_wire_form(POD, "core.v1.Pod")
    assert written["status"] == {}
    assert written["spec"]["containers"] == [{"name": "c", "resources": {}}]
    assert in_wire_form({"metadata": {"name": "r"}}, "rbac.v1.Role")["rules"] is None


def test_times_are_written_in_seconds_of_utc() -> None:
    metadata = {"name": "x", "creationTimestamp": "2026-01-02T03:04:05.6+02:00"}
    assert in_wire_form({"metadata": metadata}, "core.v1.ConfigMap")["metadata"]["creationTimestamp"] == (
        "2026-01-02T01:04:05Z"
    )


def test_the_result_shares_nothing_that_can_change() -> None:
    labels, command = {"a": "b"}, ["run"]
    given = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "command": command}]}}
    written = in_wire_form(given, "core.v1.Pod")
    written["metadata"]["labels"]["c"] = "d"
    written["spec"]["containers"][0]["command"].append("more")
    assert (labels, command) == ({"a": "b"}, ["run"])
