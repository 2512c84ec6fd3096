"""Schemas of custom kinds in OpenAPI documents."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.schema.openapi_custom import custom_definitions
from bayplan.apiserver.schema.openapi_schemas import V2, V3, Schema, SchemaDialect
from bayplan.apiserver.schema.resources import Resource

CRON_TABS = Resource("stable.example.com", "v1", "CronTab", "crontabs", "crontab", True)
SCHEMA: Schema = {
    "type": "object",
    "description": "Runs things.",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "default": 1, "minimum": 0},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
                "maybe": {"type": "string", "nullable": True},
                "list": {"type": "array", "items": {"type": "string", "oneOf": []}},
            },
        }
    },
}


def kind_schema(schema: Schema | None, form: SchemaDialect) -> dict[str, Any]:
    return custom_definitions(CRON_TABS, schema, form)["com.example.stable.v1.CronTab"]


def test_a_kind_has_metadata_and_names_itself() -> None:
    found = kind_schema(SCHEMA, V3)
    assert set(found["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert found["description"] == "Runs things."
    assert found["x-kubernetes-group-version-kind"] == [
        {"group": "stable.example.com", "version": "v1", "kind": "CronTab"}
    ]
    assert found["properties"]["spec"] == SCHEMA["properties"]["spec"]
    head = [found["properties"][name]["description"] for name in ("apiVersion", "kind", "metadata")]
    begins = ("APIVersion defines", "Kind is", "Standard object's metadata")
    assert all(text.startswith(begin) for text, begin in zip(head, begins, strict=True))


def test_a_list_refers_to_its_kind() -> None:
    found = custom_definitions(CRON_TABS, SCHEMA, V2)["com.example.stable.v1.CronTabList"]
    assert found["properties"]["items"]["items"] == {"$ref": "#/definitions/com.example.stable.v1.CronTab"}


def test_version_2_leaves_out_what_it_cannot_say() -> None:
    spec = kind_schema(SCHEMA, V2)["properties"]["spec"]["properties"]
    assert spec == {
        "replicas": {"type": "integer", "minimum": 0},
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "maybe": {},
        "list": {"type": "array", "items": {"type": "string"}},
    }


def test_without_a_schema_anything_goes() -> None:
    found = kind_schema(None, V2)
    assert "properties" not in found
    assert found["type"] == "object"


def test_a_schema_that_keeps_everything_says_nothing_in_openapi_2() -> None:
    free = {"type": "object", "description": "Anything.", "x-kubernetes-preserve-unknown-fields": True}
    published = {name: value for name, value in kind_schema(free, V2).items() if not name.startswith("x-")}
    assert published == {"type": "object"}
    assert kind_schema(free, V3)["description"] == "Anything."
