"""OpenAPI 3: the index of documents, and a document for each group version.

Takes resources, and for custom ones the schemas of their kinds; gives documents as plain data. They hold what clients
look at: the schemas, and for each path its verbs, parameters and kinds. kubectl validates, explains and decides about
dry runs with them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.apiserver.schema.openapi_operations import PARAMETERS, Operation, operations
from bayplan.apiserver.schema.openapi_schemas import V3, Schema, schemas
from bayplan.apiserver.schema.openapi_types import kind_reference, types_of
from bayplan.apiserver.schema.resources import Resource

Document = dict[str, Any]
_META_TYPES = ("meta.v1.DeleteOptions", "meta.v1.Status", "meta.v1.WatchEvent", "Patch")
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_ANSWERS = ("application/json", "application/yaml")


def document_path(resource: Resource) -> str:
    """Where the document of a resource's group version is found, below /openapi/v3/."""
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def index(documents: Mapping[str, bytes]) -> Document:
    """The answer to /openapi/v3: the paths of the encoded documents, each with a hash that changes when it does."""
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={hashlib.sha256(encoded).hexdigest().upper()}"}
            for path, encoded in documents.items()
        }
    }


def built_in_document(resources: Iterable[Resource]) -> Document:
    """The document of a group version with built-in types."""
    served = list(resources)
    types = set(_META_TYPES)
    for resource in served:
        for operation in operations(resource):
            types |= set(types_of(operation))
    return _document(served, schemas(types, V3))


def custom_document(resources: Iterable[Resource], kinds: Mapping[str, Schema]) -> Document:
    """The document of a group version of custom resources, whose schemas are given by their definitions' names."""
    return _document(resources, {**schemas((*_META_TYPES, "meta.v1.ObjectMeta", "meta.v1.ListMeta"), V3), **kinds})


def _document(resources: Iterable[Resource], components: Mapping[str, Schema]) -> Document:
    paths: dict[str, Document] = {}
    for resource in resources:
        for operation in operations(resource):
            path = paths.setdefault(operation.path, {"parameters": _path_parameters(operation.path)})
            path[operation.method] = _operation(operation)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(components.items()))},
    }


def _operation(operation: Operation) -> Document:
    described: Document = {
        "operationId": operation.operation_id,
        "parameters": [_query_parameter(name) for name in operation.parameters],
    }
    if operation.body_kind:
        media_types = _PATCHES if operation.body_kind == "Patch" else ("*/*",)
        body: Document = {"content": _content(operation, operation.body_kind, media_types)}
        described["requestBody"] = body | ({} if operation.method == "delete" else {"required": True})
    answer = {"description": "OK", "content": _content(operation, operation.answer_kind, _ANSWERS)}
    described["responses"] = {"200": answer, "401": {"description": "Unauthorized"}}
    described["x-kubernetes-action"] = operation.action
    described["x-kubernetes-group-version-kind"] = operation.group_version_kind
    return described


def _content(operation: Operation, kind: str, media_types: Iterable[str]) -> Document:
    schema = kind_reference(operation, kind, V3)
    return {media_type: {"schema": schema} for media_type in media_types}


def _path_parameters(path: str) -> list[Document]:
    in_path = [name for name in ("name", "namespace") if f"{{{name}}}" in path]
    return [
        *({"name": name, "in": "path", "required": True, "schema": _unique("string")} for name in in_path),
        _query_parameter("pretty"),
    ]


def _query_parameter(name: str) -> Document:
    return {"name": name, "in": "query", "schema": _unique(PARAMETERS[name])}


def _unique(type_name: str) -> Schema:
    return {"type": type_name, "uniqueItems": True}
