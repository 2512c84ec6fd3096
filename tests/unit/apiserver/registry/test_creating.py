"""New objects: where they go, what they are called, what the server adds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, PODS, Api, config_map, pod


def test_the_server_decides_what_belongs_to_it() -> None:
    metadata = {
        **{"name": "m", "uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 7},
        **{"deletionTimestamp": "2000-01-01T00:00:00Z", "selfLink": "/x", "deletionGracePeriodSeconds": 5},
    }
    made = Api().post(CONFIG_MAPS, {"metadata": metadata})["metadata"]
    assert made["uid"] != "mine"
    assert made["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert made["resourceVersion"] == "12"
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(made)


def test_whoever_creates_owns_what_was_sent() -> None:
    (entry,) = Api().post(f"{CONFIG_MAPS}?fieldManager=me", config_map(a="1"))["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_names_are_generated_and_never_twice() -> None:
    api = Api()
    body = {"metadata": {"generateName": "job-"}}
    names = {api.post(CONFIG_MAPS, body)["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("job-") and len(name) == len("job-") + 5 for name in names)


@pytest.mark.parametrize(
    ("body", "status", "fault"),
    [
        (config_map(), 409, 'configmaps "m" already exists'),
        ({"metadata": {}}, 422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is'),
        ({"metadata": {"name": "A b"}}, 422, 'ConfigMap "A b" is invalid: metadata.name: Invalid value: "A b": '),
        (
            {"metadata": {"name": "x", "resourceVersion": "5"}},
            500,
            "resourceVersion should not be set on objects to be",
        ),
        ({"metadata": {"name": "x", "namespace": "other"}}, 400, "the namespace of the provided object does not match"),
    ],
)
def test_what_cannot_be_created_is_refused(body: dict[str, Any], status: int, fault: str) -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map())
    found, words = api.refusal("POST", CONFIG_MAPS, body)
    assert (found, words[: len(fault)]) == (status, fault)


def test_a_namespace_must_exist() -> None:
    words = Api().refusal("POST", CONFIG_MAPS.replace("default", "nowhere"), config_map())
    assert words == (404, 'namespaces "nowhere" not found')


def test_a_dry_run_answers_as_if_and_stores_nothing() -> None:
    api = Api()
    before = api.version
    status, made = api.call("POST", f"{PODS}?dryRun=All", pod())
    assert (status, made["spec"]["restartPolicy"], "resourceVersion" in made["metadata"]) == (201, "Always", False)
    assert (api.version, api.call("GET", f"{PODS}/p")[0]) == (before, 404)
    assert api.refusal("POST", f"{PODS}?dryRun=Some", pod())[0] == 422
