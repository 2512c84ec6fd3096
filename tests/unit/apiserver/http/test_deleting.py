"""DELETE: at once, with grace, under conditions, by selection."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, DEPLOYMENTS, PODS, Api, config_map, deployment, pod

from bayplan.model.time_units import SECOND


def _with_map(**metadata: Any) -> Api:
    api = Api()
    api.post(CONFIG_MAPS, {**config_map(), "metadata": {"name": "m", **metadata}})
    return api


def test_what_is_gone_is_answered_with_a_status_that_names_it() -> None:
    api = _with_map()
    uid = api.get(f"{CONFIG_MAPS}/m")["metadata"]["uid"]
    answer = api.delete(f"{CONFIG_MAPS}/m")
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "m", "kind": "configmaps", "uid": uid}
    assert api.refusal("GET", f"{CONFIG_MAPS}/m") == (404, 'configmaps "m" not found')


def test_finalizers_keep_an_object_until_the_last_is_taken_away() -> None:
    api = _with_map(finalizers=["example.com/one", "example.com/two"])
    ending = api.delete(f"{CONFIG_MAPS}/m")
    assert ending["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    api.patch(f"{CONFIG_MAPS}/m", {"metadata": {"finalizers": ["example.com/two"]}})
    assert api.get(f"{CONFIG_MAPS}/m")["metadata"]["finalizers"] == ["example.com/two"]
    api.patch(f"{CONFIG_MAPS}/m", {"metadata": {"finalizers": None}})
    assert api.call("GET", f"{CONFIG_MAPS}/m")[0] == 404


def test_what_is_being_deleted_gets_no_new_finalizer() -> None:
    api = _with_map(finalizers=["example.com/one"])
    api.delete(f"{CONFIG_MAPS}/m")
    body = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
    status, words = api.refusal("PATCH", f"{CONFIG_MAPS}/m", body, "application/merge-patch+json")
    assert (status, "no new finalizers can be added if the object is being deleted" in words) == (422, True)


@pytest.mark.parametrize(
    ("query", "body", "seconds"),
    [
        ("", None, 30),
        ("?gracePeriodSeconds=5", None, 5),
        ("", {"gracePeriodSeconds": 7}, 7),
        ("", {}, 30),
        # Clients name the version of the group whose objects they delete.
        ("", {"kind": "DeleteOptions", "apiVersion": "resource.k8s.io/v1", "gracePeriodSeconds": 8}, 8),
    ],
)
def test_a_pod_on_a_node_ends_gracefully(query: str, body: Any, seconds: int) -> None:
    api = Api()
    api.post(PODS, {**pod(), "spec": {**pod()["spec"], "nodeName": "n1"}})
    ending = api.delete(f"{PODS}/p{query}", body)["metadata"]
    assert (ending["deletionGracePeriodSeconds"], ending["deletionTimestamp"]) == (
        seconds,
        f"2026-01-01T00:00:{seconds:02}Z",
    )
    api.now += SECOND
    shorter = api.delete(f"{PODS}/p?gracePeriodSeconds=2")["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 2
    api.delete(f"{PODS}/p?gracePeriodSeconds=0")
    assert api.call("GET", f"{PODS}/p")[0] == 404


def test_a_pod_without_a_node_goes_at_once() -> None:
    api = Api()
    api.post(PODS, pod())
    assert api.delete(f"{PODS}/p")["kind"] == "Pod"
    assert api.call("GET", f"{PODS}/p")[0] == 404


@pytest.mark.parametrize(
    ("preconditions", "fault"),
    [
        ({"uid": "other"}, "the UID in the precondition (other) does not match the UID in record ("),
        (
            {"resourceVersion": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (12)",
        ),
    ],
)
def test_preconditions(preconditions: dict[str, str], fault: str) -> None:
    status, words = _with_map().refusal("DELETE", f"{CONFIG_MAPS}/m", {"preconditions": preconditions})
    assert (status, fault in words) == (409, True), words


@pytest.mark.parametrize(
    ("body", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
    ],
)
def test_dependents_may_be_waited_for(body: dict[str, Any], finalizers: list[str]) -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    assert api.delete(f"{DEPLOYMENTS}/d", body)["metadata"]["finalizers"] == finalizers


def test_policies_that_contradict_each_other_are_refused() -> None:
    body = {"propagationPolicy": "Background", "orphanDependents": True}
    status, words = _with_map().refusal("DELETE", f"{CONFIG_MAPS}/m", body)
    assert (status, "orphanDependents and deletionPropagation cannot be both set" in words) == (422, True)


@pytest.mark.parametrize(("query", "body"), [("?dryRun=All", None), ("", {"dryRun": ["All"]})])
def test_a_dry_run_deletes_nothing(query: str, body: Any) -> None:
    api = _with_map()
    before = api.version
    api.delete(f"{CONFIG_MAPS}/m{query}", body)
    assert (api.version, api.call("GET", f"{CONFIG_MAPS}/m")[0]) == (before, 200)


def test_a_collection_is_deleted_as_far_as_it_is_selected() -> None:
    api = Api()
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        api.post(CONFIG_MAPS, {**config_map(name), "metadata": {"name": name, "labels": {"color": color}}})
    gone = api.delete(f"{CONFIG_MAPS}?labelSelector=color%3Dred")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in api.get(CONFIG_MAPS)["items"]] == ["b"]


def test_a_namespace_ends_once_its_finalizer_is_gone() -> None:
    api = Api()
    api.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    ending = api.delete("/api/v1/namespaces/shop")
    assert (ending["status"]["phase"], ending["spec"]["finalizers"]) == ("Terminating", ["kubernetes"])
    status, words = api.refusal("POST", "/api/v1/namespaces/shop/configmaps", config_map())
    assert (status, "because it is being terminated" in words) == (403, True)
    api.put("/api/v1/namespaces/shop/finalize", {"metadata": {"name": "shop"}, "spec": {"finalizers": []}})
    assert api.call("GET", "/api/v1/namespaces/shop")[0] == 404
