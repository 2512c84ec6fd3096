"""OpenAPI 2: one document of everything served, which older clients ask for.

Takes resources, and for custom ones the schemas of their kinds; gives the document as plain data. kubectl up to 1.26
validates, explains and decides about dry runs with it. `openapi_v2_protobuf` encodes it as those clients want it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.apiserver.schema.openapi_operations import PARAMETERS, Operation, operations
from bayplan.apiserver.schema.openapi_schemas import V2, Schema, schemas
from bayplan.apiserver.schema.openapi_types import kind_reference, types_of
from bayplan.apiserver.schema.resources import Resource

Document = dict[str, Any]


def document(resources: Iterable[Resource], custom_schemas: Mapping[str, Schema]) -> Document:
    """Everything served; the schemas of custom kinds are given by their definitions' names."""
    paths: dict[str, Document] = {}
    types: set[str] = set()
    for resource in resources:
        for operation in operations(resource):
            types |= set(types_of(operation))
            path = paths.setdefault(operation.path, {"parameters": _path_parameters(operation.path)})
            path[operation.method] = _operation(operation)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted({**schemas(types, V2), **custom_schemas}.items())),
    }


def _operation(operation: Operation) -> Document:
    parameters = [_query_parameter(name) for name in operation.parameters]
    if operation.body_kind:
        body = {"name": "body", "in": "body", "schema": kind_reference(operation, operation.body_kind, V2)}
        parameters.insert(0, body | ({} if operation.method == "delete" else {"required": True}))
    answer = {"description": "OK", "schema": kind_reference(operation, operation.answer_kind, V2)}
    return {
        "operationId": operation.operation_id,
        "parameters": parameters,
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.group_version_kind,
    }


def _path_parameters(path: str) -> list[Document]:
    in_path = [name for name in ("name", "namespace") if f"{{{name}}}" in path]
    return [
        *({"name": name, "in": "path", "required": True, "type": "string", "uniqueItems": True} for name in in_path),
        _query_parameter("pretty"),
    ]


def _query_parameter(name: str) -> Document:
    return {"name": name, "in": "query", "type": PARAMETERS[name], "uniqueItems": True}
