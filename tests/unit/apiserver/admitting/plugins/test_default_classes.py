"""Classes that are taken where none is named, and what a runtime class adds."""

from __future__ import annotations

from typing import Any

from tests.support.admission_documents import admitted, document, pod, refusal

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def _storage_class(name: str, created: str, is_default: str = "true") -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": is_default}
    metadata = {"name": name, "creationTimestamp": created, "annotations": annotations}
    return {**document("storage.k8s.io/v1", "StorageClass", provisioner="p"), "metadata": metadata}


def test_a_claim_gets_the_newest_default_class() -> None:
    classes = (
        _storage_class("old", "2026-01-01T00:00:00Z"),
        _storage_class("new", "2026-01-02T00:00:00Z"),
        _storage_class("newest", "2026-01-03T00:00:00Z", "false"),
    )
    assert admitted(document("v1", "PersistentVolumeClaim", CLAIM), *classes)["spec"]["storageClassName"] == "new"
    named = document("v1", "PersistentVolumeClaim", {**CLAIM, "storageClassName": ""})
    assert admitted(named, *classes)["spec"]["storageClassName"] == ""


def test_of_classes_without_a_time_the_first_by_name_is_taken() -> None:
    def marked(name: str, **more: str) -> dict[str, Any]:
        made = _storage_class(name, "")
        del made["metadata"]["creationTimestamp"]
        made["metadata"] |= more
        return made

    classes = (marked("b"), marked("c"), marked("a", creationTimestamp="1970-01-01T00:00:00Z"))
    assert admitted(document("v1", "PersistentVolumeClaim", CLAIM), *classes)["spec"]["storageClassName"] == "a"


def test_an_ingress_gets_the_default_class() -> None:
    default = document("networking.k8s.io/v1", "IngressClass", {"controller": "a/b"})
    default["metadata"] = {"name": "i", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingress = document("networking.k8s.io/v1", "Ingress", {"defaultBackend": backend})
    assert admitted(ingress, default)["spec"]["ingressClassName"] == "i"


def test_a_runtime_class_brings_its_overhead_and_its_nodes() -> None:
    sandbox = document(
        "node.k8s.io/v1",
        "RuntimeClass",
        handler="h",
        overhead={"podFixed": {"cpu": "100m"}},
        scheduling={"nodeSelector": {"a": "b"}},
    )
    spec = admitted(pod(runtimeClassName="x", nodeSelector={"c": "d"}), sandbox)["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "100m"}, {"a": "b", "c": "d"})
    assert refusal(pod(runtimeClassName="none")) == 'pod rejected: RuntimeClass "none" not found'
    assert "conflict: runtimeClass.scheduling.nodeSelector[a] = b" in refusal(
        pod(runtimeClassName="x", nodeSelector={"a": "z"}), sandbox
    )
