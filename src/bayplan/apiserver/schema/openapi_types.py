"""Which schema the body and the answer of an operation have, in documents of either version of OpenAPI."""

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.openapi_operations import Operation
from bayplan.apiserver.schema.openapi_schemas import Schema, SchemaDialect, reference


def types_of(operation: Operation) -> list[str]:
    """The built-in types that an operation takes and gives."""
    names = [_type_name(operation, kind) for kind in (operation.body_kind, operation.answer_kind) if kind]
    return [name for name in names if name is not None]


def kind_reference(operation: Operation, kind: str, form: SchemaDialect) -> Schema:
    type_name = _type_name(operation, kind)
    if type_name is not None:
        return reference(type_name, form)
    return {"$ref": form.reference_prefix + custom_definition_name(operation.group, operation.version, kind)}


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """As published: the group's words in reverse order, com.example.stable.v1.CronTab."""
    return ".".join([*reversed(group.split(".")), version, kind])


def _type_name(operation: Operation, kind: str) -> str | None:
    """The built-in type of a body or an answer; None: a custom resource."""
    if kind == "Patch":
        return kind
    if kind in {"DeleteOptions", "Status"}:
        return f"meta.v1.{kind}"
    api_version = f"{operation.group}/{operation.version}" if operation.group else operation.version
    found = message_of(api_version, kind)
    return None if found is None else found.name
