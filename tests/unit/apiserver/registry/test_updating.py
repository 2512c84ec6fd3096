"""PUT and PATCH: conflicts, halves of an object, and what stays the server's."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from tests.support.api_server import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    TOYS,
    Api,
    config_map,
    deployment,
    pod,
    toy,
    toy_definition,
)

STALE = (
    'Operation cannot be fulfilled on configmaps "m": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
STRATEGIC, JSON_PATCH = "application/strategic-merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def _with_map() -> tuple[Api, dict[str, Any]]:
    api = Api()
    return api, api.post(CONFIG_MAPS, config_map(a="1"))


def test_an_update_of_the_current_version_is_stored() -> None:
    api, made = _with_map()
    changed = api.put(f"{CONFIG_MAPS}/m", {**made, "data": {"b": "2"}})
    assert (changed["data"], changed["metadata"]["resourceVersion"]) == ({"b": "2"}, "13")
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]


def test_an_update_of_an_older_version_is_a_conflict() -> None:
    api, made = _with_map()
    api.patch(f"{CONFIG_MAPS}/m", {"data": {"b": "2"}})
    assert api.refusal("PUT", f"{CONFIG_MAPS}/m", made) == (409, STALE)


def test_version_zero_is_no_version() -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map(a="b"))
    written = {**config_map(a="c"), "metadata": {"name": "m", "resourceVersion": "0"}}
    assert api.put(f"{CONFIG_MAPS}/m", written)["data"] == {"a": "c"}


def test_version_zero_does_not_do_where_a_version_is_needed() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition())
    api.post(TOYS, toy())
    status, message = api.refusal("PUT", f"{TOYS}/t", toy("t", {"resourceVersion": "0"}))
    assert (status, "must be specified for an update" in message) == (422, True)


def test_approving_a_request_for_a_certificate_writes_its_conditions() -> None:
    api = Api()
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {
        "request": certificate_request(),
        "signerName": "example.com/signer",
        "usages": ["client auth"],
        "username": "mallory",
    }
    made = api.post(path, {"metadata": {"name": "bob"}, "spec": spec})
    assert (made["spec"]["username"], made["spec"]["groups"][0]) == ("admin", "system:masters")
    approved = {"type": "Approved", "status": "True", "reason": "x", "message": "y"}
    made["status"] = {"conditions": [approved], "certificate": "Zm9v"}
    written = api.put(f"{path}/bob/approval", made)
    time = "2026-01-01T00:00:00Z"
    assert written["status"] == {"conditions": [{**approved, "lastUpdateTime": time, "lastTransitionTime": time}]}


def certificate_request() -> str:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bob")])
    made = x509.CertificateSigningRequestBuilder(subject).sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return b64encode(made.public_bytes(Encoding.PEM)).decode()


def test_stored_objects_show_defaults_that_come_later() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition(object_with(color={"type": "string"})))
    before = api.post(TOYS, toy())
    api.put(f"{DEFINITIONS}/toys.example.com", with_default(api, "red"))
    shown = api.get(f"{TOYS}/t")
    assert (shown["color"], shown["metadata"]) == ("red", before["metadata"])
    assert api.get(TOYS)["items"][0]["color"] == "red"


def object_with(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def with_default(api: Api, default: str) -> dict[str, Any]:
    definition = api.get(f"{DEFINITIONS}/toys.example.com")
    schema = object_with(color={"type": "string", "default": default})
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return definition


def test_a_patch_with_an_older_version_is_a_conflict() -> None:
    api, _ = _with_map()
    body = {"metadata": {"resourceVersion": "3"}, "data": {"b": "2"}}
    assert api.refusal("PATCH", f"{CONFIG_MAPS}/m", body, "application/merge-patch+json") == (409, STALE)


@pytest.mark.parametrize(
    ("metadata", "status", "fault"),
    [
        ({"name": "other"}, 400, "the name of the object (other) does not match the name on the URL (m)"),
        ({"name": "m", "namespace": "kube-public"}, 400, "the namespace of the provided object does not match"),
        ({"name": "m", "uid": "other"}, 409, 'Operation cannot be fulfilled on configmaps "m": StorageError: '),
    ],
)
def test_an_update_of_another_object_is_refused(metadata: dict[str, Any], status: int, fault: str) -> None:
    api, _ = _with_map()
    found, words = api.refusal("PUT", f"{CONFIG_MAPS}/m", {**config_map(), "metadata": metadata})
    assert (found, words[: len(fault)]) == (status, fault)


def test_what_is_the_servers_stays() -> None:
    api, made = _with_map()
    wish = {**made, "metadata": {**made["metadata"], "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 9}}
    changed = api.put(f"{CONFIG_MAPS}/m", {**wish, "data": {}})
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert "generation" not in changed["metadata"]


def test_a_write_that_changes_nothing_keeps_the_version() -> None:
    api, made = _with_map()
    assert api.put(f"{CONFIG_MAPS}/m", made) == made
    assert api.patch(f"{CONFIG_MAPS}/m", {}) == made


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("application/merge-patch+json", {"data": {"a": None, "b": "2"}}),
        (STRATEGIC, {"data": {"a": None, "b": "2"}}),
        (JSON_PATCH, [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}]),
    ],
)
def test_ways_to_patch(media: str, body: Any) -> None:
    api, _ = _with_map()
    assert api.patch(f"{CONFIG_MAPS}/m", body, media)["data"] == {"b": "2"}


def test_apply_creates_and_then_takes_away_what_is_no_longer_applied() -> None:
    api = Api()
    path = f"{CONFIG_MAPS}/m?fieldManager=me"
    assert api.call("PATCH", path, config_map(a="1", b="2"), APPLY)[0] == 201
    assert api.patch(path, config_map(b="2"), APPLY)["data"] == {"b": "2"}


def test_apply_of_what_another_owns_is_a_conflict_unless_forced() -> None:
    api, _ = _with_map()
    path = f"{CONFIG_MAPS}/m?fieldManager=me"
    status, words = api.refusal("PATCH", path, config_map(a="2"), APPLY)
    assert (status, words.splitlines()[0]) == (
        409,
        'Apply failed with 1 conflict: conflict with "tests" using v1: .data.a',
    )
    assert api.patch(f"{path}&force=true", config_map(a="2"), APPLY)["data"] == {"a": "2"}


def test_the_status_is_written_through_its_subresource_only() -> None:
    api = Api()
    api.post(PODS, pod())
    by_main = api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}})
    assert by_main["status"]["phase"] == "Pending"
    by_status = api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}, "spec": {"nodeName": "n1"}})
    assert (by_status["status"]["phase"], "nodeName" in by_status["spec"]) == ("Running", False)


def test_the_generation_counts_changes_of_the_spec() -> None:
    api = Api()
    assert api.post(DEPLOYMENTS, deployment())["metadata"]["generation"] == 1
    assert api.patch(f"{DEPLOYMENTS}/d", {"spec": {"replicas": 4}})["metadata"]["generation"] == 2
    assert api.patch(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 2
    assert api.patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}})["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"uid": "another"}, "uid"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "deletionTimestamp"),
        ({"deletionGracePeriodSeconds": 3}, "deletionGracePeriodSeconds"),
    ],
)
def test_a_patch_cannot_change_who_an_object_is(metadata: dict[str, Any], field: str) -> None:
    api, _ = _with_map()
    status, fault = api.refusal("PATCH", f"{CONFIG_MAPS}/m", {"metadata": metadata}, "application/merge-patch+json")
    assert (status, f"metadata.{field}: Invalid value" in fault) == (422, True)


def test_a_namespace_means_nothing_for_objects_of_the_cluster() -> None:
    api = Api()
    node = api.post("/api/v1/nodes", {"metadata": {"name": "n"}})
    node["metadata"]["namespace"] = "other"
    assert "namespace" not in api.put("/api/v1/nodes/n", node)["metadata"]


@pytest.mark.parametrize(("version", "status"), [("5", 500), ("0", 201), ("none", 201)])
def test_a_new_object_has_no_version(version: str, status: int) -> None:
    body = config_map() | {"metadata": {"name": "m", "resourceVersion": version}}
    assert Api().call("POST", CONFIG_MAPS, body)[0] == status


def test_a_dry_run_answers_as_if_and_stores_nothing() -> None:
    api, made = _with_map()
    changed = api.put(f"{CONFIG_MAPS}/m?dryRun=All", {**made, "data": {"b": "2"}})
    assert (changed["data"], api.get(f"{CONFIG_MAPS}/m")) == ({"b": "2"}, made)


def test_an_update_of_what_is_not_there_is_not_found() -> None:
    assert Api().refusal("PUT", f"{CONFIG_MAPS}/m", config_map()) == (404, 'configmaps "m" not found')
