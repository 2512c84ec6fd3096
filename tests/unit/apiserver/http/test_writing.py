"""Patches that make a field of another type."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import DEPLOYMENTS, MERGE_PATCH, Api, deployment

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"replicas": "many"}, '"map[spec:map[replicas:many]]": unrecognized type: int32'),
        ({"paused": 1}, '"map[spec:map[paused:1]]": unrecognized type: bool'),
        ({"template": "none"}, '"map[spec:map[template:none]]": cannot restore struct from: string'),
    ],
)
def test_a_strategic_merge_patch(spec: dict[str, Any], fault: str) -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    message = f' "" is invalid: patch: Invalid value: {fault}'
    assert api.refusal("PATCH", f"{DEPLOYMENTS}/d", {"spec": spec}, STRATEGIC) == (422, message)


def test_a_merge_patch_is_refused_as_a_document() -> None:
    api = Api()
    api.post(DEPLOYMENTS, deployment())
    status, message = api.refusal("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": "many"}}, MERGE_PATCH)
    assert status == 400
    assert "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32" in message
