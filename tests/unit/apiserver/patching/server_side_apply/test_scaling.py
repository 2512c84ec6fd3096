"""Who owns the number of replicas after a write to the scale."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.patching.server_side_apply.scaling import track_scaling

OTHERS: dict[str, Any] = {"f:spec": {"f:paused": {}, "f:replicas": {}}}


def entry(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    base = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    return {**base, "fieldsV1": fields, **more}


def test_whoever_scales_takes_the_replicas_and_nobody_knows_when() -> None:
    entries = [entry("maker", OTHERS, time="2026-01-01T12:00:00Z")]
    assert track_scaling(entries, "apps/v1", "kubectl") == [
        entry("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale"),
        entry("maker", {"f:spec": {"f:paused": {}}}, time="2026-01-01T12:00:00Z"),
    ]


def test_scaling_again_leaves_one_entry() -> None:
    once = track_scaling([], "apps/v1", "kubectl")
    assert track_scaling(once, "apps/v1", "kubectl") == once
    assert [one["manager"] for one in track_scaling(once, "apps/v1", "autoscaler")] == ["autoscaler"]


def test_replicas_of_custom_resources_are_where_their_definition_says() -> None:
    path = ("f:spec", "f:size")
    assert track_scaling([], "example.com/v1", "me", path)[0]["fieldsV1"] == {"f:spec": {"f:size": {}}}
