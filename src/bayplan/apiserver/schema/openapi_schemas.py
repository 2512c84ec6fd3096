"""OpenAPI schemas of the built-in types, in the form of version 2 or 3.

Takes names of types; gives the schemas of these and of all types they refer to, by the names that Kubernetes publishes
("io.k8s.api.core.v1.Pod"). Descriptions are our own and short, and most fields have none.
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from bayplan.apiserver.schema.messages import GROUPS, ZERO_OF_SCALAR, Field, Message, message
from bayplan.apiserver.schema.resources import RESOURCES

Schema = dict[str, Any]
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_PACKAGES = {
    "meta": "io.k8s.apimachinery.pkg.apis",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis",
}
_SPECIAL_NAMES = {
    "FieldsV1": f"{_META}.FieldsV1",
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "JSON": f"{_APIEXTENSIONS}.JSON",
    "JSONSchemaPropsOrArray": f"{_APIEXTENSIONS}.JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool": f"{_APIEXTENSIONS}.JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray": f"{_APIEXTENSIONS}.JSONSchemaPropsOrStringArray",
    "MicroTime": f"{_META}.MicroTime",
    "Patch": f"{_META}.Patch",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "RawExtension": "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "Time": f"{_META}.Time",
}
_SCALARS: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_SPECIAL_SCHEMAS: dict[str, Schema] = {
    "FieldsV1": {"type": "object"},
    "JSON": {},
    "JSONSchemaPropsOrArray": {},
    "JSONSchemaPropsOrBool": {},
    "JSONSchemaPropsOrStringArray": {},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Patch": {"type": "object"},
    "RawExtension": {"type": "object"},
    "Time": {"type": "string", "format": "date-time"},
}


class SchemaDialect(msgspec.Struct, frozen=True):
    """What differs between OpenAPI 2 and 3."""

    reference_prefix: str
    has_defaults: bool
    special_schemas: dict[str, Schema]


V2 = SchemaDialect(
    "#/definitions/",
    False,
    _SPECIAL_SCHEMAS | {"IntOrString": {"type": "string", "format": "int-or-string"}, "Quantity": {"type": "string"}},
)
V3 = SchemaDialect(
    "#/components/schemas/",
    True,
    _SPECIAL_SCHEMAS
    | {
        "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    },
)


def definition_name(type_name: str) -> str:
    """ "core.v1.Pod" is published as io.k8s.api.core.v1.Pod."""
    if type_name in _SPECIAL_NAMES:
        return _SPECIAL_NAMES[type_name]
    return f"{_PACKAGES.get(type_name.partition('.')[0], 'io.k8s.api')}.{type_name}"


def reference(type_name: str, form: SchemaDialect) -> Schema:
    return {"$ref": form.reference_prefix + definition_name(type_name)}


def schemas(type_names: Iterable[str], form: SchemaDialect) -> dict[str, Schema]:
    """The schemas of these types and of all they refer to."""
    waiting = list(type_names)
    found: dict[str, Schema] = {}
    while waiting:
        type_name = waiting.pop()
        name = definition_name(type_name)
        if name in found:
            continue
        if type_name in form.special_schemas:
            found[name] = form.special_schemas[type_name]
            continue
        whole = message(type_name)
        found[name] = _message_schema(whole, form)
        waiting += [field.type for field in whole.fields.values() if _is_reference(field.type)]
    return dict(sorted(found.items()))


def _is_reference(type_name: str) -> bool:
    return type_name not in _SCALARS and type_name != "ExtraValue"


def _message_schema(whole: Message, form: SchemaDialect) -> Schema:
    required = [field.name for field in whole.fields.values() if field.required]
    kinds = _kinds(whole)
    return {
        **_description(whole.name),
        "type": "object",
        # A type without fields has no list of them: clients take an empty list for a type they may not add to.
        **({"properties": _properties(whole, form)} if whole.fields else {}),
        **({"required": sorted(required)} if required else {}),
        **({"x-kubernetes-map-type": whole.map_type} if whole.map_type else {}),
        **({"x-kubernetes-group-version-kind": kinds} if kinds else {}),
    }


def _properties(whole: Message, form: SchemaDialect) -> dict[str, Schema]:
    properties = {}
    for name in sorted(whole.fields):
        field = whole.fields[name]
        properties[name] = _description(f"{whole.name}.{name}") | _field_schema(field, form) | _merging(field)
    return properties


def _field_schema(field: Field, form: SchemaDialect) -> Schema:
    item = _item_schema(field, form)
    if field.container == "list":
        return {"type": "array", "items": item}
    if field.container == "map":
        return {"type": "object", "additionalProperties": item}
    return item


def _item_schema(field: Field, form: SchemaDialect) -> Schema:
    """The schema of a field's value, or of its items."""
    if field.type == "ExtraValue":
        return {"type": "array", "items": _SCALARS["string"] | ({"default": ""} if form.has_defaults else {})}
    schema = dict(_SCALARS[field.type]) if field.type in _SCALARS else reference(field.type, form)
    if field.enum:
        schema["enum"] = list(field.enum)
    if not form.has_defaults:
        return schema
    default = _default(field)
    if "$ref" in schema and (default or not field.container):
        schema = {"allOf": [schema]}
    return schema | default


def _default(field: Field) -> Schema:
    if field.container:
        default = {} if field.is_message else ZERO_OF_SCALAR.get(field.type, msgspec.UNSET)
    else:
        is_whole_object = field.is_message and field.always_present and not field.pointer
        default = {} if is_whole_object else field.default
    return {} if default is msgspec.UNSET else {"default": default}


def _merging(field: Field) -> Schema:
    extensions: Schema = {}
    if field.list_type:
        extensions["x-kubernetes-list-type"] = field.list_type
    if field.list_map_keys:
        extensions["x-kubernetes-list-map-keys"] = list(field.list_map_keys)
    if field.map_type:
        extensions["x-kubernetes-map-type"] = field.map_type
    if field.patch_strategy:
        extensions["x-kubernetes-patch-strategy"] = ",".join(field.patch_strategy)
    if field.patch_merge_key:
        extensions["x-kubernetes-patch-merge-key"] = field.patch_merge_key
    return extensions


def _kinds(whole: Message) -> list[dict[str, str]]:
    """Groups, versions and kinds of objects of this type; none for parts of objects."""
    prefix, _, kind = whole.name.rpartition(".")
    first, _, version = prefix.partition(".")
    type_meta = [whole.fields.get(name) for name in ("apiVersion", "kind")]
    if any(field is None or field.number for field in type_meta):
        return []
    if kind == "DeleteOptions":
        versions = dict.fromkeys((resource.group, resource.version) for resource in RESOURCES)
        return [{"group": group, "version": served, "kind": kind} for group, served in versions]
    group = "" if first == "meta" else _GROUPS_OF_NAMES[first]
    return [{"group": group, "version": version, "kind": kind}]


_GROUPS_OF_NAMES = {name: group for group, name in GROUPS.items()}


def _description(name: str) -> Schema:
    text = _descriptions().get(name)
    return {"description": text} if text else {}


@cache
def _descriptions() -> dict[str, str]:
    """What types and fields are for, one line each: the name and a sentence."""
    text = (resources.files(__package__) / "data" / "descriptions.txt").read_text(encoding="utf-8")
    return dict(line.split(" ", 1) for line in text.splitlines())
