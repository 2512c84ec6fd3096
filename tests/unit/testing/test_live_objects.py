"""Manifests in every shape that a test may have them, and kinds under every name that kubectl takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.testing import LiveCluster, Refusal, cluster
from bayplan.testing.live_objects import Source, documents_of

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.sea.example}
spec:
  group: sea.example
  names: {kind: Ship, plural: ships, singular: ship, shortNames: [sh]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: sea.example/v1
kind: Ship
metadata: {name: anna}
bays: 3
"""


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture(scope="module")
def k() -> Iterator[LiveCluster]:
    with cluster(nodes=1, controllers=False) as running:
        yield running


TEXT = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: one}\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param(TEXT, ["one"], id="text"),
        pytest.param(f"---\n{TEXT}---\n---\n{TEXT}", ["one", "one"], id="several documents, one of them empty"),
        pytest.param(config_map("one"), ["one"], id="an object"),
        pytest.param([config_map("one"), config_map("two")], ["one", "two"], id="a list"),
        pytest.param({"kind": "List", "items": [config_map("one")]}, ["one"], id="a List"),
        pytest.param(iter([{"kind": "ConfigMapList", "items": [config_map("one")]}]), ["one"], id="a ConfigMapList"),
    ],
)
def test_shapes_of_manifests(source: Source, names: list[str]) -> None:
    assert [document["metadata"]["name"] for document in documents_of(source)] == names


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(TEXT)
    (tmp_path / "a.json").write_text('{"metadata": {"name": "json"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    found = [document["metadata"]["name"] for document in documents_of(str(tmp_path))]
    assert found == ["json", "one"]
    assert [*documents_of(tmp_path / "b.yaml")] == [*documents_of(str(tmp_path / "b.yaml"))] == [*documents_of(TEXT)]


@pytest.mark.parametrize("source", ["- 1\n- 2\n", [1]])
def test_what_is_not_an_object_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match="not a Kubernetes object"):
        [*documents_of(source)]


def test_applying_again_changes_what_is_there(k: LiveCluster) -> None:
    (first,) = k.apply(config_map("settings", a="1", b="2"))
    (second,) = k.apply(config_map("settings", a="3"))
    assert second["data"] == {"a": "3"}
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert (
        k.apply(config_map("settings", a="3"))[0]["metadata"]["resourceVersion"]
        == second["metadata"]["resourceVersion"]
    )


def test_namespaces(k: LiveCluster) -> None:
    k.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
    k.apply(config_map("there"), namespace="prod")
    assert k.get("cm", "there", "prod")["metadata"]["namespace"] == "prod"
    assert [found["metadata"]["name"] for found in k.list("cm", "prod")] == ["there"]
    k.delete("cm", "there", "prod")
    assert k.list("cm", "prod") == []


def test_generated_names(k: LiveCluster) -> None:
    beginning = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}}
    (made,) = k.apply(beginning)
    assert made["metadata"]["name"].startswith("made-")


def test_custom_resources_can_be_applied_with_their_definition(k: LiveCluster) -> None:
    k.apply(DEFINITION)
    for name in ("ship", "Ship", "ships", "sh", "ships.sea.example", "ship.v1.sea.example"):
        assert k.get(name, "anna")["bays"] == 3


@pytest.mark.parametrize(
    ("name", "api_version"),
    [
        ("Deployment", "apps/v1"),
        ("deploy", "apps/v1"),
        ("deployments.apps", "apps/v1"),
        ("deployment.v1.apps", "apps/v1"),
        ("events.events.k8s.io", "events.k8s.io/v1"),
        ("no", "v1"),
    ],
)
def test_names_of_kinds(k: LiveCluster, name: str, api_version: str) -> None:
    assert all(found["apiVersion"] == api_version for found in k.list(name))


@pytest.mark.parametrize(
    ("act", "code", "says"),
    [
        (lambda k: k.get("pod", "x"), 404, 'NotFound: pods "x" not found'),
        (lambda k: k.get("boat", "x"), 404, "the server doesn't have a resource type for boat"),
        (lambda k: k.apply({"kind": "Boat", "apiVersion": "v9"}), 404, "resource type for Boat of v9"),
        (lambda k: k.apply({"kind": "Pod"}), 404, "Pod without apiVersion"),
        (lambda k: k.apply({**config_map("x"), "data": {"a b": "1"}}), 422, 'Invalid: ConfigMap "x" is invalid'),
    ],
)
def test_refusals(k: LiveCluster, act: Any, code: int, says: str) -> None:
    with pytest.raises(Refusal) as refusal:
        act(k)
    assert refusal.value.code == code
    assert says in str(refusal.value)
