"""OpenAPI schemas of custom kinds, made from the schema in their CustomResourceDefinition.

Takes a custom `Resource` and its structural schema; gives definitions of the kind and of its list, for documents of
either version. OpenAPI 2 knows less: what it cannot say is left out, so that its clients accept more rather than less.
"""

from typing import Any

from bayplan.apiserver.schema.openapi_schemas import V2, Schema, SchemaDialect, reference
from bayplan.apiserver.schema.openapi_types import custom_definition_name
from bayplan.apiserver.schema.resources import Resource

# How these begin is what clients look for; the rest is in our own words.
_API_VERSION: Schema = {"type": "string", "description": "APIVersion defines which schema the object follows."}
_KIND: Schema = {"type": "string", "description": "Kind is the name of the object's schema, in CamelCase."}
_METADATA = "Standard object's metadata: names, labels, and what the server keeps about it."
# Upstream: apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go.
_NOT_IN_V2 = frozenset({"allOf", "anyOf", "default", "not", "nullable", "oneOf"})
_FREE_FORM = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")


def custom_definitions(resource: Resource, schema: Schema | None, form: SchemaDialect) -> dict[str, Schema]:
    """Definitions of the resource's kind and of its list, by name; without a schema an object may hold anything."""
    name = custom_definition_name(resource.group, resource.version, resource.kind)
    list_name = custom_definition_name(resource.group, resource.version, resource.list_kind)
    item = {"$ref": form.reference_prefix + name}
    items_of_list = {"type": "array", "items": item}
    of_list: Schema = {
        "type": "object",
        "required": ["items"],
        "properties": {**_head("meta.v1.ListMeta", form), "items": items_of_list},
    }
    return {
        name: _kind_schema(schema, form) | _kind(resource, resource.kind),
        list_name: of_list | _kind(resource, resource.list_kind),
    }


def _kind_schema(schema: Schema | None, form: SchemaDialect) -> Schema:
    if schema is None or (form is V2 and any(schema.get(extension) for extension in _FREE_FORM)):
        return {"type": "object"}
    published = _as_v2(schema) if form is V2 else dict(schema)
    properties = {**published.get("properties", {}), **_head("meta.v1.ObjectMeta", form)}
    return {**published, "type": "object", "properties": properties}


def _head(meta_type: str, form: SchemaDialect) -> dict[str, Schema]:
    return {
        "apiVersion": _API_VERSION,
        "kind": _KIND,
        "metadata": {"description": _METADATA, **reference(meta_type, form)},
    }


def _kind(resource: Resource, kind: str) -> Schema:
    entry = {"group": resource.group, "version": resource.version, "kind": kind}
    return {"x-kubernetes-group-version-kind": [entry]}


def _as_v2(schema: Schema) -> Schema:
    if schema.get("x-kubernetes-int-or-string"):
        return {"x-kubernetes-int-or-string": True}
    kept: Schema = {name: value for name, value in schema.items() if name not in _NOT_IN_V2}
    if any(kept.get(extension) for extension in _FREE_FORM) or schema.get("nullable"):
        # A client of OpenAPI 2 would refuse what is not listed, and null.
        for name in ("items", "properties", "required", "type"):
            kept.pop(name, None)
    for name in ("items", "additionalProperties"):
        if isinstance(kept.get(name), dict):
            kept[name] = _as_v2(kept[name])
    if "properties" in kept:
        properties: dict[str, Any] = kept["properties"]
        kept["properties"] = {name: _as_v2(value) for name, value in properties.items()}
    return kept
