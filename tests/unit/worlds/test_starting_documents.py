"""What a cluster is filled with: manifests, dumps, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import PODS, Api

from bayplan.model.errors import InvalidObject
from bayplan.model.reading import SourcedDocument
from bayplan.worlds.starting_documents import load

CONTAINER = {"name": "c", "image": "x"}


def pod(name: str, container: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container or CONTAINER]},
    }


def loaded(*documents: dict[str, Any]) -> Api:
    api = Api()
    load(api.registry, [SourcedDocument("file.yaml", "document 1", one) for one in documents], api.now)
    return api


def faults(*documents: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidObject) as raised:
        loaded(*documents)
    return [str(fault) for fault in raised.value.faults]


def test_a_manifest_is_created_with_all_of_its_fields() -> None:
    api = loaded(pod("a", {**CONTAINER, "env": [{"name": "A", "value": "1"}]}))
    made = api.get(f"{PODS}/a")
    assert made["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert made["spec"]["restartPolicy"] == "Always"


def test_missing_namespaces_are_added() -> None:
    api = loaded(pod("a", namespace="shop"))
    assert api.get("/api/v1/namespaces/shop")["status"]["phase"] == "Active"


def test_a_stored_object_keeps_its_uid_status_and_age() -> None:
    dumped = pod("a", uid="u-1", creationTimestamp="2025-01-01T00:00:00Z", resourceVersion="77")
    api = loaded({**dumped, "status": {"phase": "Running"}})
    made = api.get(f"{PODS}/a")
    assert (made["metadata"]["uid"], made["status"]["phase"]) == ("u-1", "Running")
    assert made["metadata"]["creationTimestamp"] == "2025-01-01T00:00:00Z"
    assert made["metadata"]["resourceVersion"] != "77"


def test_custom_resources_come_after_their_definition() -> None:
    custom = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": 1}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    api = loaded(custom, definition)
    assert api.get("/apis/example.com/v1/namespaces/default/things/t")["spec"] == {"a": 1}


def test_a_manifest_with_a_status_gets_it() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    assert loaded(node).get("/api/v1/nodes/n")["status"]["capacity"] == {"cpu": "4"}


def test_what_is_there_stays() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"a": "b"}}}
    assert "a" not in loaded(namespace).get("/api/v1/namespaces/default")["metadata"]["labels"]


def test_all_faults_are_reported_at_once() -> None:
    said = faults(
        pod("a", {**CONTAINER, "name": "C"}),
        pod("b", {**CONTAINER, "nope": 1}),
        {"apiVersion": "x/v1", "kind": "Foo", "metadata": {"name": "f"}},
        {"metadata": {}},
    )
    assert said[0] == "file.yaml: Foo f: kind: this cluster has no kind Foo in x/v1"
    assert said[1] == "file.yaml: object (document 1): apiVersion: is missing"
    assert said[2].startswith('file.yaml: Pod a: spec.containers[0].name: Invalid value: "C"')
    assert said[3].endswith('strict decoding error: unknown field "spec.containers[0].nope"')
