"""Admission as a whole: whatever has the right types is taken or refused, and what is taken stays as it is.

Documents are drawn field by field from the types themselves, with values that are often wrong.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, namespace
from tests.support.api_server import Api

from bayplan.apiserver.registry.admission import admit_create, admit_update, default_document
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.schema.messages import Field, message, message_of
from bayplan.apiserver.schema.resources import RESOURCES, Resource, built_in
from bayplan.store.errors import ApiError

SEEDS = 25
DEPTH_MAX = 7
VALUES: dict[str, list[Any]] = {
    "string": ["", "a", "A b", "x/y", "Always", "None", "1.2.3.4", "ReadWriteOnce", "ä"],
    "bool": [True, False],
    "int32": [-1, 0, 1, 80, 70_000, 2**31 - 1],
    "int64": [-1, 0, 1, 2**40],
    "double": [0.0, 1.5],
    "bytes": ["", "YQ=="],
    "Quantity": ["0", "1", "-1", "500m", "1Gi", 2, 0.1],
    "IntOrString": [0, 1, -1, "25%", "http", "200%"],
    "Time": ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05+01:00"],
    "MicroTime": ["2026-01-02T03:04:05.000006Z"],
    "Duration": ["1s"],
}
KINDS = [resource for resource in RESOURCES if "create" in resource.verbs and "get" in resource.verbs]


def _drawn(draw: random.Random, name: str, depth: int) -> dict[str, Any]:
    share = 0.9 if depth < 2 else 0.35
    fields = [
        field for field in message(name).fields.values() if field.name not in ("apiVersion", "kind", "managedFields")
    ]
    return {field.name: _value(draw, field, depth + 1) for field in fields if draw.random() < share}


def _value(draw: random.Random, field: Field, depth: int) -> Any:
    if draw.random() < 0.05:
        return None
    if field.container == "list":
        return [_one(draw, field, depth) for _ in range(draw.randrange(3))]
    if field.container == "map":
        return {
            draw.choice(["a", "cpu", "x/y", "A b", "storage"]): _one(draw, field, depth)
            for _ in range(draw.randrange(3))
        }
    return _one(draw, field, depth)


def _one(draw: random.Random, field: Field, depth: int) -> Any:
    if field.is_message:
        return _drawn(draw, field.type, depth) if depth < DEPTH_MAX else {}
    return draw.choice(VALUES.get(field.type, [{}]))


def _document(resource: Resource, seed: int) -> dict[str, Any]:
    draw = random.Random(f"{resource.qualified_resource} {seed}")
    described = message_of(resource.api_version, resource.kind)
    assert described is not None
    made = {"apiVersion": resource.api_version, "kind": resource.kind, **_drawn(draw, described.name, 0)}
    metadata = made.get("metadata") or {}
    kept = {
        name: value
        for name, value in metadata.items()
        if name in ("labels", "annotations", "finalizers", "ownerReferences")
    }
    where = {"namespace": "default"} if resource.namespaced else {}
    made["metadata"] = {**kept, **where, "name": "x", "uid": "1"}
    return made


@pytest.mark.parametrize("resource", KINDS, ids=lambda resource: resource.qualified_resource)
def test_a_drawn_document_is_taken_or_refused(resource: Resource) -> None:
    cluster = Documents(namespace("default"))
    for seed in range(SEEDS):
        try:
            admit_create(resource, _document(resource, seed), cluster, NOW)
        except ApiError:
            continue
        except Exception as error:
            pytest.fail(f"seed {seed}: {error!r}")


@pytest.mark.parametrize("resource", KINDS, ids=lambda resource: resource.qualified_resource)
def test_an_update_with_a_drawn_document_is_taken_or_refused(resource: Resource) -> None:
    empty = Documents(namespace("default"))
    for seed in range(SEEDS):
        stored = default_document(resource, _document(resource, seed))
        wished = _document(resource, seed + SEEDS)
        for subresource in ("", *(part.name for part in resource.subresources if part.kind == resource.kind)):
            try:
                admit_update(resource, wished, stored, empty, NOW, subresource)
            except ApiError:
                continue
            except Exception as error:
                pytest.fail(f"seed {seed}: {error!r}")


@pytest.mark.parametrize("resource", KINDS, ids=lambda resource: resource.qualified_resource)
def test_defaults_given_again_change_nothing(resource: Resource) -> None:
    for seed in range(SEEDS):
        once = default_document(resource, _document(resource, seed))
        assert default_document(resource, once) == once, seed


def test_whoever_creates_what_has_no_effect_is_told() -> None:
    told = WriteOptions()
    role = {"metadata": {"name": "r", "uid": "u", "namespace": "default"}, "rules": []}
    admit_create(built_in("rbac.authorization.k8s.io", "roles"), role, Api().registry, 0, options=told)
    assert told.warnings == ["Role is stored, but has no effect: everybody who has a token may do everything"]


def test_what_is_stored_forgets_that_something_was_given_with_nothing_in_it() -> None:
    api = Api()
    spec = {"nodeSelector": {}, "containers": [{"name": "c", "image": "x", "args": []}]}
    api.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}, "spec": spec})
    stored = api.registry.entry(built_in("", "pods"), "default", "a").document["spec"]
    assert (type(stored), type(stored["containers"][0])) == (dict, dict)
