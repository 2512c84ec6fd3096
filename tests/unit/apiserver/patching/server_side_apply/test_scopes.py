"""Which fields a write to a resource or a subresource can own."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.patching.server_side_apply.scopes import custom_scope, scope_of
from bayplan.apiserver.schema.resources import RESOURCES

FIELDS: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:a": {}}, "f:ownerReferences": {}},
    "f:spec": {
        "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}},
        "f:ephemeralContainers": {'k:{"name":"e"}': {".": {}, "f:image": {}}},
    },
    "f:status": {"f:conditions": {}, "f:phase": {}},
}
METADATA, SPEC, STATUS = ({name: FIELDS[name]} for name in FIELDS)
LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {"f:a": {}}}}
OWNERS: dict[str, Any] = {"f:metadata": {"f:ownerReferences": {}}}


@pytest.mark.parametrize(
    ("plural", "subresource", "expected"),
    [
        ("pods", "", METADATA | SPEC),
        ("pods", "status", LABELS | STATUS),
        ("deployments", "status", OWNERS | STATUS),
        ("nodes", "status", METADATA | STATUS),
        ("resourceclaims", "status", STATUS),
        ("configmaps", "", FIELDS),
        ("namespaces", "finalize", METADATA | SPEC),
        ("pods", "ephemeralcontainers", {"f:spec": {"f:ephemeralContainers": SPEC["f:spec"]["f:ephemeralContainers"]}}),
        (
            "pods",
            "resize",
            {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:resources": {"f:limits": {}}}}}},
        ),
    ],
)
def test_built_in(plural: str, subresource: str, expected: dict[str, Any]) -> None:
    resource = next(one for one in RESOURCES if one.plural == plural)
    assert scope_of(resource, subresource).counting(FIELDS) == expected


@pytest.mark.parametrize(
    ("has_status", "subresource", "expected"),
    [(False, "", FIELDS), (True, "", METADATA | SPEC), (True, "status", STATUS)],
)
def test_custom(has_status: bool, subresource: str, expected: dict[str, Any]) -> None:
    scope = custom_scope("example.com/v1", "Thing", None, has_status=has_status, subresource=subresource)
    assert scope.counting(FIELDS) == expected
