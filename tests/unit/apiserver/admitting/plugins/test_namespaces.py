"""Creation in namespaces that are missing or ending."""

from __future__ import annotations

import pytest
from tests.support.admission_documents import NOW, Documents, document, namespace, resource_named

from bayplan.apiserver.registry.admission import admit_create
from bayplan.store.errors import ApiError

CONFIG_MAP = document("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("namespaces", "code", "message"),
    [
        ([], 404, 'namespaces "default" not found'),
        (
            [namespace("default", status={"phase": "Terminating"})],
            403,
            'configmaps "x" is forbidden: unable to create new content in namespace default because it is '
            "being terminated",
        ),
    ],
)
def test_nothing_is_created_in_it(namespaces: list[dict[str, object]], code: int, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        admit_create(resource_named(CONFIG_MAP), CONFIG_MAP, Documents(*namespaces), NOW)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_what_has_no_namespace_needs_none() -> None:
    node = document("v1", "Node", {})
    assert admit_create(resource_named(node), node, Documents(), NOW)["metadata"]["name"] == "x"
