"""Who owns which fields after creates, updates and patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bayplan.apiserver.patching.server_side_apply.scopes import Scope, scope_of
from bayplan.apiserver.patching.server_side_apply.tracking import track, with_old_times
from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.model.time_units import SECOND

Object = dict[str, Any]
NOON = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z


def scope(plural: str, subresource: str = "") -> Scope:
    return scope_of(next(one for one in RESOURCES if one.plural == plural), subresource)


def config_map(data: Object | None = None, **metadata: Any) -> Object:
    document: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "uid": "u", **metadata}}
    return document if data is None else {**document, "data": data}


def owned(document: Object) -> Object:
    """Fields by manager."""
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", [])}


def created(data: Object | None = None, *, by: str = "maker", at: int = NOON) -> Object:
    return track(scope("configmaps"), None, config_map(data), by, at)


def updated(live: Object, data: Object | None, *, by: str, at: int = NOON) -> Object:
    new = {**live, "data": data}
    return track(scope("configmaps"), live, new, by, at)


def test_whoever_creates_owns_everything() -> None:
    document = created({"a": "1"})
    assert document["metadata"]["managedFields"] == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_an_object_with_nothing_to_own_has_no_owner() -> None:
    assert "managedFields" not in created()["metadata"]


def test_a_manager_without_a_name_is_unknown() -> None:
    assert list(owned(created({"a": "1"}, by=""))) == ["unknown"]


def test_whoever_changes_a_field_takes_it() -> None:
    document = updated(created({"a": "1", "b": "1"}), {"a": "2", "b": "1"}, by="other")
    assert owned(document) == {"maker": {"f:data": {".": {}, "f:b": {}}}, "other": {"f:data": {"f:a": {}}}}


def test_whoever_is_left_with_nothing_is_gone() -> None:
    live = updated(created({"a": "1"}), {"a": "1", "b": "1"}, by="other")
    assert owned(updated(live, {"a": "1"}, by="third")) == {"maker": {"f:data": {".": {}, "f:a": {}}}}
    assert set(owned(updated(live, {"a": "1", "b": "2"}, by="third"))) == {"maker", "third"}


def test_a_removed_field_is_nobodys() -> None:
    assert owned(updated(created({"a": "1", "b": "1"}), {"b": "1"}, by="other")) == {
        "maker": {"f:data": {".": {}, "f:b": {}}}
    }


def test_a_manager_has_one_entry_for_each_subresource() -> None:
    pods, status = scope("pods"), scope("pods", "status")
    pod: Object = {"metadata": {"name": "p", "uid": "u", "labels": {"a": "1"}}, "spec": {}, "status": {}}
    live = track(pods, None, {**pod, "status": {"phase": "Pending"}}, "me", NOON)
    assert owned(live) == {"me": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}
    new = track(status, live, {**live, "status": {"phase": "Running"}, "spec": {"nodeName": "n"}}, "me", NOON)
    entries = new["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:phase": {}}}


def test_entries_are_sorted_by_time_then_name() -> None:
    live = created({"a": "1"}, by="b", at=NOON + SECOND)
    live = updated(live, {"a": "1", "b": "1"}, by="a", at=NOON + SECOND)
    live = updated(live, {"a": "1", "b": "1", "c": "1"}, by="c", at=NOON)
    assert list(owned(live)) == ["c", "a", "b"]


def test_a_write_that_changes_nothing_keeps_everything_as_it_was() -> None:
    live = created({"a": "1"})
    again = track(scope("configmaps"), live, copy.deepcopy(live), "other", NOON + SECOND)
    assert again == live
    assert again["metadata"]["managedFields"][0] is live["metadata"]["managedFields"][0]


def test_inputs_are_not_modified() -> None:
    live = created({"a": "1", "b": "1"})
    new = {**live, "data": {"a": "2"}}
    before = copy.deepcopy((live, new))
    track(scope("configmaps"), live, new, "other", NOON)
    assert (live, new) == before


def test_a_client_that_does_not_know_owners_cannot_remove_them() -> None:
    live = created({"a": "1"})
    for metadata in ({"name": "m", "uid": "u"}, {**live["metadata"], "managedFields": [{"manager": "broken"}]}):
        new = {**live, "metadata": metadata, "data": {"a": "2"}}
        assert list(owned(track(scope("configmaps"), live, new, "other", NOON))) == ["maker", "other"]


@pytest.mark.parametrize("reset", [[], [{}]])
def test_owners_can_be_given_up_for_good(reset: list[Object]) -> None:
    live = created({"a": "1"})
    new = {**live, "metadata": {**live["metadata"], "managedFields": reset}}
    gone = track(scope("configmaps"), live, new, "other", NOON)
    assert "managedFields" not in gone["metadata"]
    assert owned(updated(gone, {"a": "2"}, by="third")) == {}


def test_owners_that_a_request_names_count_in_canonical_form() -> None:
    live = created({"a": "1"})
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed"}
    entry["fieldsV1"] = {"f:data": {"f:a": {".": {}}, ".": {}}}
    new = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert owned(track(scope("configmaps"), live, new, "other", NOON)) == {"renamed": {"f:data": {".": {}, "f:a": {}}}}


def test_owners_are_not_taken_from_requests_to_subresources() -> None:
    live = track(scope("pods"), None, {"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {}}, "maker", NOON)
    new = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    assert owned(track(scope("pods", "status"), live, new, "other", NOON)) == owned(live)


def test_more_than_ten_updaters_share_an_entry() -> None:
    live = created({"k0": "1"}, by="m0")
    data = {"k0": "1"}
    for number in range(1, 12):
        data = {**data, f"k{number}": "1"}
        live = updated(live, data, by=f"m{number}", at=NOON + number * SECOND)
    entries = owned(live)
    assert list(entries) == ["ancient-changes", *(f"m{number}" for number in range(3, 12))]
    assert entries["ancient-changes"] == {"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}}
    times = [entry["time"] for entry in live["metadata"]["managedFields"]]
    assert times[0] == "2026-01-01T12:00:02Z"


def test_an_object_whose_lists_cannot_be_told_apart_loses_its_owners() -> None:
    live = track(scope("pods"), None, {"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {}}, "maker", NOON)
    broken = {**live, "spec": {"containers": ["x"]}}
    assert owned(track(scope("pods"), live, broken, "other", NOON)) == {}


# -- what only the time changes


def test_a_newer_time_alone_is_undone() -> None:
    live = created({"a": "1"})
    entry = {**live["metadata"]["managedFields"][0], "time": "2027-01-01T00:00:00Z"}
    new = {**live, "metadata": {**live["metadata"], "managedFields": [entry], "resourceVersion": "7"}}
    result = with_old_times(live, new)
    assert result["metadata"]["managedFields"] == live["metadata"]["managedFields"]
    assert result["metadata"]["resourceVersion"] == "7"


def test_a_newer_time_stays_if_anything_else_is_different() -> None:
    live = created({"a": "1"})
    entry = {**live["metadata"]["managedFields"][0], "time": "2027-01-01T00:00:00Z"}
    for change in ({"data": {"a": "2"}}, {"metadata": {**live["metadata"], "labels": {"x": "y"}}}):
        new = {**live, **change}
        new = {**new, "metadata": {**new["metadata"], "managedFields": [entry]}}
        assert with_old_times(live, new) is new
    renamed = {**live, "metadata": {**live["metadata"], "managedFields": [{**entry, "manager": "x"}]}}
    assert with_old_times(live, renamed) is renamed
