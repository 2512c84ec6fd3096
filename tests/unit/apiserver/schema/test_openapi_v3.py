"""OpenAPI 3 documents and their index."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from tests.unit.apiserver.schema.test_openapi_schemas import references

from bayplan.apiserver.schema.openapi_custom import custom_definitions
from bayplan.apiserver.schema.openapi_schemas import V3
from bayplan.apiserver.schema.openapi_v3 import built_in_document, custom_document, document_path, index
from bayplan.apiserver.schema.resources import RESOURCES, Resource

GROUP_VERSIONS = [list(served) for _, served in groupby(RESOURCES, key=lambda resource: resource.api_version)]
CRON_TABS = Resource("stable.example.com", "v1", "CronTab", "crontabs", "crontab", True)


@pytest.mark.parametrize("served", GROUP_VERSIONS, ids=lambda served: document_path(served[0]))
def test_every_document_refers_only_to_what_it_holds(served: list[Resource]) -> None:
    document = built_in_document(served)
    assert references(document, V3) <= set(document["components"]["schemas"])


@pytest.mark.parametrize("served", GROUP_VERSIONS, ids=lambda served: document_path(served[0]))
def test_kubectl_finds_the_validation_of_fields_for_every_kind_that_can_be_patched(served: list[Resource]) -> None:
    document = built_in_document(served)
    kinds = {
        operation["x-kubernetes-group-version-kind"]["kind"]
        for path in document["paths"].values()
        for method, operation in path.items()
        if method == "patch" and {"fieldValidation", "dryRun"} <= {one["name"] for one in operation["parameters"]}
    }
    assert kinds >= {resource.kind for resource in served if "patch" in resource.verbs}


def test_paths_declare_what_is_in_braces() -> None:
    pods = next(served for served in GROUP_VERSIONS if served[0].api_version == "v1")
    path: dict[str, Any] = built_in_document(pods)["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert [one["name"] for one in path["parameters"] if one["in"] == "path"] == ["name", "namespace"]


def test_the_index_names_each_document_with_a_hash_that_depends_on_it() -> None:
    first, second = index({"api/v1": b"{}"}), index({"api/v1": b"[]"})
    url = first["paths"]["api/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/api/v1?hash=")
    assert url != second["paths"]["api/v1"]["serverRelativeURL"]


def test_a_document_of_custom_resources_holds_their_schemas() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    document = custom_document([CRON_TABS], custom_definitions(CRON_TABS, schema, V3))
    assert document_path(CRON_TABS) == "apis/stable.example.com/v1"
    assert "com.example.stable.v1.CronTab" in document["components"]["schemas"]
    assert references(document, V3) <= set(document["components"]["schemas"])
