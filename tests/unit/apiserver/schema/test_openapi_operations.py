"""The requests that OpenAPI documents list for a resource."""

from __future__ import annotations

from bayplan.apiserver.schema.openapi_operations import PARAMETERS, Operation, operations
from bayplan.apiserver.schema.resources import RESOURCES, resource_of


def operations_of(group: str, plural: str) -> dict[tuple[str, str], Operation]:
    resource = resource_of(group, "v1", plural)
    assert resource is not None
    return {(one.method, one.path): one for one in operations(resource)}


def test_namespaced_resources_have_collections_objects_and_a_list_of_all_namespaces() -> None:
    found = operations_of("apps", "deployments")
    collection = "/apis/apps/v1/namespaces/{namespace}/deployments"
    assert {(method, path) for method, path in found if path == collection} == {
        ("get", collection),
        ("post", collection),
        ("delete", collection),
    }
    assert {method for method, path in found if path == f"{collection}/{{name}}"} == {"get", "put", "patch", "delete"}
    everywhere = found["get", "/apis/apps/v1/deployments"]
    assert everywhere.operation_id == "listAppsV1DeploymentForAllNamespaces"


def test_only_verbs_that_are_served_are_listed() -> None:
    assert ("delete", "/api/v1/namespaces") not in operations_of("", "namespaces")
    assert set(operations_of("", "componentstatuses")) == {
        ("get", "/api/v1/componentstatuses"),
        ("get", "/api/v1/componentstatuses/{name}"),
    }


def test_patches_can_be_dry_runs_and_validate_fields() -> None:
    patch = operations_of("", "pods")["patch", "/api/v1/namespaces/{namespace}/pods/{name}"]
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= set(patch.parameters)
    assert patch.group_version_kind == {"group": "", "version": "v1", "kind": "Pod"}


def test_subresources_have_the_kind_of_their_document() -> None:
    scale = operations_of("apps", "deployments")["put", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]
    assert scale.group_version_kind == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert scale.operation_id == "replaceAppsV1NamespacedDeploymentScale"


def test_connections_are_not_listed() -> None:
    assert not [path for _, path in operations_of("", "pods") if path.endswith(("/exec", "/proxy", "/attach"))]


def test_all_parameters_are_known_and_all_ids_distinct() -> None:
    everything = [one for resource in RESOURCES for one in operations(resource)]
    assert {name for one in everything for name in one.parameters} <= set(PARAMETERS)
    assert len({one.operation_id for one in everything}) == len(everything)
