"""Server-side apply: merging, giving up fields, conflicts and force, refusals, and kubectl's way from client-side."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.apiserver.patching.server_side_apply.applying import apply
from bayplan.apiserver.patching.server_side_apply.scopes import Scope, custom_scope, scope_of
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.model.time_units import SECOND
from bayplan.store.errors import ApiError, BadRequest, Conflict, InternalError

Object = dict[str, Any]
NOON = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def scope(plural: str, subresource: str = "") -> Scope:
    return scope_of(next(one for one in RESOURCES if one.plural == plural), subresource)


def config_map(data: Object | None = None, **metadata: Any) -> Object:
    document: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **metadata}}
    return document if data is None else {**document, "data": data}


def pod(**spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def applied(live: Object | None, config: Object, *, by: str = "one", force: bool = False, at: int = NOON) -> Object:
    """The result, as it is after it was stored."""
    before = copy.deepcopy((live, config))
    plural = {"ConfigMap": "configmaps", "Pod": "pods"}[config["kind"]]
    result = apply(scope(plural), live, config, by, at, force=force)
    assert (live, config) == before
    return {**result, "metadata": {"uid": "u", **result["metadata"]}}


def owned(document: Object) -> Object:
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", [])}


def test_applying_to_nothing_creates() -> None:
    result = apply(scope("configmaps"), None, config_map({"a": "1", "b": None}), "one", NOON)
    assert result["data"] == {"a": "1"}
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}},
        }
    ]


def test_applying_the_same_again_changes_nothing_not_even_the_time() -> None:
    live = applied(None, config_map({"a": "1"}))
    assert applied(live, config_map({"a": "1"}), at=NOON + SECOND) == live


def test_what_is_no_longer_applied_goes() -> None:
    live = applied(None, config_map({"a": "1", "b": "1"}))
    assert applied(live, config_map({"b": "1"}))["data"] == {"b": "1"}
    assert "data" not in applied(live, config_map())


@pytest.mark.parametrize("given_up", [{"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"finalizers": ["a/b"]}])
def test_an_object_keeps_its_name_when_the_last_field_of_its_metadata_is_given_up(given_up: Object) -> None:
    live = applied(None, config_map({"a": "1"}, **given_up))
    left = applied(live, config_map({"a": "1"}))
    assert left["metadata"].pop("managedFields")[0]["fieldsV1"] == {"f:data": {"f:a": {}}}
    assert left["metadata"] == {"name": "m", "uid": "u"}


def test_what_another_owns_too_stays() -> None:
    live = applied(applied(None, config_map({"a": "1", "b": "1"})), config_map({"a": "1"}), by="two")
    left = applied(live, config_map({"b": "1"}))
    assert left["data"] == {"a": "1", "b": "1"}
    assert owned(left) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_what_an_update_took_over_stays() -> None:
    live = applied(None, config_map({"a": "1", "b": "1"}))
    live = track(scope("configmaps"), live, {**live, "data": {"a": "2", "b": "1"}}, "updater", NOON)
    assert applied(live, config_map({"b": "1"}))["data"] == {"a": "2", "b": "1"}


def test_an_item_that_another_added_to_stays_with_what_is_not_given_up() -> None:
    live = applied(None, pod(containers=[{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]))
    live = applied(live, pod(containers=[{"name": "b", "tty": True}]), by="two")
    left = applied(live, pod(containers=[{"name": "a", "image": "1"}]))
    assert left["spec"]["containers"] == [{"name": "a", "image": "1"}, {"name": "b", "tty": True}]


def test_a_manager_of_the_same_values_joins_without_a_time() -> None:
    live = applied(None, config_map({"a": "1"}))
    both = applied(live, config_map({"a": "1"}), by="two", at=NOON + SECOND)
    assert [(entry["manager"], entry.get("time")) for entry in both["metadata"]["managedFields"]] == [
        ("two", None),
        ("one", "2026-01-01T12:00:00Z"),
    ]


def conflict(live: Object, config: Object, *, by: str = "me") -> Conflict:
    with pytest.raises(Conflict) as refusal:
        applied(live, config, by=by)
    return refusal.value


def test_one_conflict_is_named_in_a_line() -> None:
    refusal = conflict(applied(None, config_map({"a": "1"})), config_map({"a": "2"}))
    assert refusal.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "one": .data.a',
        "reason": "Conflict",
        "details": {
            "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}]
        },
        "code": 409,
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    live = track(scope("configmaps"), None, config_map({"a": "1", "b": "1"}), "updater", NOON)
    live = applied(live, config_map({"a": "1", "c": "1"}), by="applier")
    refusal = conflict(live, config_map({"a": "2", "b": "2", "c": "2"}))
    assert refusal.message == (
        "Apply failed with 4 conflicts: "
        'conflicts with "applier":\n- .data.a\n- .data.c\n'
        'conflicts with "updater" using v1:\n- .data.a\n- .data.b'
    )
    assert [(cause.message, cause.field) for cause in refusal.causes] == [
        ('conflict with "applier"', ".data.a"),
        ('conflict with "applier"', ".data.c"),
        ('conflict with "updater" using v1', ".data.a"),
        ('conflict with "updater" using v1', ".data.b"),
    ]


def test_paths_through_lists_name_the_keys() -> None:
    ports = [{"containerPort": 80, "name": "web"}]
    live = applied(None, pod(containers=[{"name": "c", "ports": ports}]))
    refusal = conflict(live, pod(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "x"}]}]))
    assert refusal.causes[0].field == '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name'


def test_a_conflict_with_a_subresource_says_so() -> None:
    live = track(scope("pods"), None, {**pod(), "metadata": {"name": "p", "labels": {"a": "1"}}}, "maker", NOON)
    changed = {**live["metadata"], "labels": {"a": "2"}}
    live = track(scope("pods", "status"), live, {**live, "metadata": changed}, "kubelet", NOON)
    config = {**pod(), "metadata": {"name": "p", "labels": {"a": "3"}}}
    assert conflict(live, config).message == (
        'Apply failed with 1 conflict: conflict with "kubelet" with subresource "status" using v1: .metadata.labels.a'
    )


def test_force_takes_the_field() -> None:
    live = applied(None, config_map({"a": "1", "b": "1"}))
    taken = applied(live, config_map({"a": "2"}), by="two", force=True)
    assert taken["data"] == {"a": "2", "b": "1"}
    assert owned(taken) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_an_object_that_nobody_tracked_belongs_to_an_owner_made_up_for_it() -> None:
    live = {**config_map({"a": "1", "b": "1"}), "metadata": {"name": "m", "uid": "u"}}
    result = applied(live, config_map({"b": "1"}))
    assert owned(result) == {
        "before-first-apply": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
        "one": {"f:data": {"f:b": {}}},
    }
    assert conflict(live, config_map({"a": "2"})).message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a'
    )


def test_the_status_cannot_be_applied_to_the_object_nor_the_spec_to_its_status() -> None:
    config = {**pod(nodeName="n"), "status": {"phase": "Running"}}
    assert owned(apply(scope("pods"), None, config, "one", NOON)) == {"one": {"f:spec": {"f:nodeName": {}}}}
    live = {"metadata": {"name": "p", "uid": "u"}, "spec": {}, "status": {}}
    assert owned(apply(scope("pods", "status"), live, config, "one", NOON)) == {"one": {"f:status": {"f:phase": {}}}}


@pytest.mark.parametrize(
    ("config", "refusal", "message"),
    [
        ({**config_map(), "apiVersion": "v2"}, BadRequest, "invalid object type: /v2, Kind=ConfigMap"),
        ({**config_map(), "kind": "Secret"}, BadRequest, "invalid object type: /v1, Kind=Secret"),
        (config_map(managedFields=[]), BadRequest, "metadata.managedFields must be nil"),
        (
            {**config_map(namespace="n"), "nope": 1},
            InternalError,
            "failed to create typed patch object (n/m; /v1, Kind=ConfigMap): .nope: field not declared in schema",
        ),
        (
            config_map({"a": 1, "b": 2}),
            InternalError,
            "failed to create typed patch object (/m; /v1, Kind=ConfigMap): errors:\n"
            "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .data.b: expected string, got &value.valueUnstructured{Value:2}",
        ),
        (
            {**config_map(), "metadata": []},
            InternalError,
            "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata: expected map, got &{[]}",
        ),
    ],
)
def test_refused(config: Object, refusal: type[ApiError], message: str) -> None:
    with pytest.raises(refusal) as error:
        apply(scope("configmaps"), None, config, "one", NOON)
    assert error.value.message == message


def test_custom_resources_without_a_schema() -> None:
    crontabs = custom_scope("example.com/v1", "CronTab", None, has_status=True)
    config = {
        "apiVersion": "example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "c"},
        "spec": {"a": [1], "b": {"c": 1}},
    }
    live = apply(crontabs, None, config, "one", NOON)
    fields: Object = {"f:spec": {".": {}, "f:a": {}, "f:b": {".": {}, "f:c": {}}}}
    assert owned(live) == {"one": fields}
    with pytest.raises(Conflict) as error:
        apply(crontabs, live, {**config, "spec": {"a": [2]}}, "two", NOON)
    assert error.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.a'


# -- what kubectl applied client-side


def client_side(data: Object) -> Object:
    config = config_map(data, annotations={})
    annotated = config_map(data, annotations={LAST_APPLIED: json.dumps(config) + "\n"})
    live = track(scope("configmaps"), None, annotated, "kubectl-client-side-apply", NOON)
    return {**live, "metadata": {**live["metadata"], "uid": "u"}}


def test_kubectl_takes_over_what_it_applied_client_side() -> None:
    result = applied(client_side({"a": "1"}), config_map({"a": "2"}), by="kubectl")
    assert result["data"] == {"a": "2"}
    annotation = result["metadata"]["annotations"][LAST_APPLIED]
    assert annotation == '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"m"}}\n'


def test_others_do_not() -> None:
    assert conflict(client_side({"a": "1"}), config_map({"a": "2"})).causes[0].field == ".data.a"


def test_kubectl_does_not_take_over_what_changed_since() -> None:
    live = client_side({"a": "1", "b": "1"})
    live = track(scope("configmaps"), live, {**live, "data": {"a": "1", "b": "9"}}, "editor", NOON)
    refusal = conflict(live, config_map({"a": "2", "b": "2"}), by="kubectl")
    assert refusal.message == 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.b'


def test_kubectl_moves_an_object_to_server_side_step_by_step() -> None:
    live = applied(client_side({"a": "1", "b": "1"}), config_map({"a": "1"}), by="kubectl")
    annotation = {LAST_APPLIED: live["metadata"]["annotations"][LAST_APPLIED]}
    live = applied(live, config_map(annotations=annotation), by="kubectl-last-applied")
    entries = copy.deepcopy(live["metadata"]["managedFields"])
    kept = [entry for entry in entries if entry["manager"] != "kubectl-client-side-apply"]
    mine = next(entry for entry in kept if entry["manager"] == "kubectl")
    mine["fieldsV1"] = {"f:data": {"f:a": {}, "f:b": {}}}
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": kept}]
    live = track(scope("configmaps"), live, apply_json_patch(live, patch), "kubectl", NOON)
    assert owned(live)["kubectl"] == {"f:data": {"f:a": {}, "f:b": {}}}
    assert applied(live, config_map({"a": "1"}), by="kubectl")["data"] == {"a": "1"}
