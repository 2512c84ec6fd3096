"""The built-in resources and their names."""

from __future__ import annotations

import pytest

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import ALL_VERBS, RESOURCES, Resource, resource_of, resource_of_kind


def test_a_resource_is_found_by_plural_and_by_kind() -> None:
    deployments = resource_of("apps", "v1", "deployments")
    assert deployments is resource_of_kind("apps/v1", "Deployment")
    assert deployments is not None
    assert (deployments.qualified_resource, deployments.qualified_kind) == ("deployments.apps", "Deployment.apps")
    assert (deployments.verbs, deployments.short_names, deployments.namespaced) == (ALL_VERBS, ("deploy",), True)
    assert deployments.list_kind == "DeploymentList"


def test_resources_of_the_core_group_have_plain_names() -> None:
    pods = resource_of("", "v1", "pods")
    assert pods is not None
    assert (pods.api_version, pods.qualified_resource, pods.qualified_kind, pods.resource) == (
        "v1",
        "pods",
        "Pod",
        "pods",
    )


def test_namespaces_cannot_be_deleted_as_a_collection() -> None:
    namespaces = resource_of("", "v1", "namespaces")
    assert namespaces is not None
    assert "deletecollection" not in namespaces.verbs


def test_a_subresource_may_have_a_kind_of_another_group() -> None:
    pods = resource_of("", "v1", "pods")
    assert pods is not None
    eviction = pods.subresource("eviction")
    assert eviction is not None
    assert (eviction.kind, eviction.group, eviction.version, eviction.verbs) == (
        "Eviction",
        "policy",
        "v1",
        ("create",),
    )
    assert pods.subresource("scale") is None


@pytest.mark.parametrize(
    ("api_version", "kind", "hashed"),
    [
        ("v1", "Pod", "xPOwRZ+Yhw8="),
        ("events.k8s.io/v1", "Event", "r2yiGXH7wu8="),
        ("v1", "Binding", ""),
        ("v1", "ComponentStatus", ""),
    ],
)
def test_the_hash_of_the_stored_version_is_the_real_servers(api_version: str, kind: str, hashed: str) -> None:
    resource = resource_of_kind(api_version, kind)
    assert resource is not None
    assert resource.storage_version_hash == hashed


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.qualified_resource)
def test_every_resource_has_a_type_and_so_have_its_lists(resource: Resource) -> None:
    assert message_of(resource.api_version, resource.kind) is not None
    if "list" in resource.verbs:
        assert message_of(resource.api_version, resource.list_kind) is not None
