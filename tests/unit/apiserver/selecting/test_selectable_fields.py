"""Which fields documents are selected by, what they are as text, and the words for other fields."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import Resource, resource_of
from bayplan.apiserver.selecting.selectable_fields import SelectableFields, custom_fields

Part = dict[str, Any]


def fields(group: str, version: str, plural: str) -> SelectableFields:
    resource = resource_of(group, version, plural)
    assert resource is not None
    return kind_of(resource).selectable


def text(found: SelectableFields, field: str, document: Part) -> str:
    getter = found.getter(field)
    assert getter is not None, field
    return getter({"metadata": {}, **document})


@pytest.mark.parametrize(
    ("where", "field", "document", "expected"),
    [
        (("", "v1", "pods"), "spec.host", {"spec": {"nodeName": "n"}}, "n"),
        (("", "v1", "pods"), "spec.hostNetwork", {"spec": {"hostNetwork": True}}, "true"),
        (("", "v1", "pods"), "spec.hostNetwork", {}, "false"),
        (("", "v1", "pods"), "status.podIP", {"status": {"podIPs": [{"ip": "1.1.1.1"}]}}, "1.1.1.1"),
        (("", "v1", "pods"), "status.podIPs", {"status": {"podIPs": [{"ip": "1.1.1.1"}]}}, ""),
        (("", "v1", "pods"), "spec.schedulerName", {}, ""),
        (("", "v1", "nodes"), "spec.unschedulable", {}, "false"),
        (("", "v1", "nodes"), "spec.unschedulable", {"spec": {"unschedulable": True}}, "true"),
        (("", "v1", "namespaces"), "status.phase", {"status": {"phase": "Active"}}, "Active"),
        (("", "v1", "secrets"), "type", {"type": "Opaque"}, "Opaque"),
        (("", "v1", "services"), "spec.clusterIP", {"spec": {"clusterIP": "None"}}, "None"),
        (("", "v1", "replicationcontrollers"), "status.replicas", {"status": {"replicas": 3}}, "3"),
        (("", "v1", "replicationcontrollers"), "status.replicas", {}, "0"),
        (("batch", "v1", "jobs"), "status.successful", {"status": {"succeeded": 2}}, "2"),
        (("resource.k8s.io", "v1", "resourceslices"), "spec.driver", {"spec": {"driver": "d"}}, "d"),
        (("", "v1", "events"), "involvedObject.uid", {"involvedObject": {"uid": "u"}}, "u"),
        (("", "v1", "events"), "involvedObject.uid", {"regarding": {"uid": "u"}}, "u"),
        (("", "v1", "events"), "source", {"source": {"component": "kubelet"}, "reportingComponent": "r"}, "kubelet"),
        (("", "v1", "events"), "source", {"reportingComponent": "r"}, "r"),
        (("", "v1", "events"), "reportingComponent", {"reportingComponent": "r"}, "r"),
        (("events.k8s.io", "v1", "events"), "regarding.name", {"regarding": {"name": "p"}}, "p"),
        (("events.k8s.io", "v1", "events"), "reportingController", {"reportingController": "r"}, "r"),
        (("apps", "v1", "deployments"), "metadata.namespace", {"metadata": {"namespace": "n"}}, "n"),
    ],
)
def test_the_text_of_a_field(where: tuple[str, str, str], field: str, document: Part, expected: str) -> None:
    assert text(fields(*where), field, document) == expected


@pytest.mark.parametrize(
    ("where", "field", "message"),
    [
        (("", "v1", "pods"), "spec.priority", "field label not supported: spec.priority"),
        (("", "v1", "nodes"), "metadata.namespace", "field label not supported: metadata.namespace"),
        (("events.k8s.io", "v1", "events"), "involvedObject.name", "field label not supported: involvedObject.name"),
        (("events.k8s.io", "v1", "events"), "source", "field label not supported: source"),
        (
            ("apps", "v1", "deployments"),
            "spec.replicas",
            '"spec.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (("batch", "v1", "jobs"), "status.failed", 'field label "status.failed" not supported for Job'),
        (
            ("resource.k8s.io", "v1", "resourceslices"),
            "spec.pool",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool",
        ),
    ],
)
def test_other_fields_are_refused(where: tuple[str, str, str], field: str, message: str) -> None:
    assert fields(*where).getter(field) is None
    assert fields(*where).refusal(field) == message


def custom(*paths: str, namespaced: bool = True) -> SelectableFields:
    return custom_fields(Resource("example.com", "v1", "Shirt", "shirts", "shirt", namespaced), paths)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"spec": {"color": "red"}}, "red"),
        ({"spec": {"color": 5}}, "5"),
        ({"spec": {"color": False}}, "false"),
        ({"spec": {"color": None}}, ""),
        ({}, ""),
    ],
)
def test_declared_fields_of_custom_resources(document: Part, expected: str) -> None:
    assert text(custom(".spec.color"), "spec.color", document) == expected


def test_custom_resources_have_a_namespace_only_if_they_live_in_one() -> None:
    assert text(custom(), "metadata.namespace", {"metadata": {"namespace": "n"}}) == "n"
    assert custom(namespaced=False).getter("metadata.namespace") is None
    assert custom().refusal("spec.size") == "field label not supported: spec.size"
