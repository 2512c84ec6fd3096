"""The OpenAPI 2 document in protobuf, as kubectl asks for it.

Takes the document as plain data; gives bytes. The messages are those of gnostic, described in `data/gnostic.txt` as far
as documents need them: names and values become lists of pairs, and extensions become YAML.
"""

import json
from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.schema.messages import message
from bayplan.apiserver.schema.protobuf_types import GNOSTIC_PREFIX, class_of

Plain = dict[str, Any]
_RENAMED = {"operationId": "operation_id", "uniqueItems": "unique_items"}


def encode_document(document: Plain) -> bytes:
    shaped = {
        "swagger": document["swagger"],
        "info": document["info"],
        "paths": {"path": _named(document["paths"], _path_item)},
        "definitions": {"additional_properties": _named(document["definitions"], _schema)},
    }
    name = f"{GNOSTIC_PREFIX}.Document"
    made = class_of(name)()
    _fill(made, name, shaped)
    encoded: bytes = made.SerializeToString()
    return encoded


def _fill(made: Any, name: str, shaped: Plain) -> None:
    """Fills a protobuf message with the fields of a dict that is shaped like it; in place: copies may not be deep."""
    for field in message(name).fields.values():
        if field.name not in shaped:
            continue
        value, attribute = shaped[field.name], f"f{field.number}"
        if field.container and field.is_message:
            for item in value:
                _fill(getattr(made, attribute).add(), field.type, item)
        elif field.container:
            getattr(made, attribute).extend(value)
        elif field.is_message:
            part = getattr(made, attribute)
            part.SetInParent()
            _fill(part, field.type, value)
        else:
            setattr(made, attribute, value)


def _named(entries: Mapping[str, Any], shape: Any) -> list[Plain]:
    return [{"name": name, "value": shape(value)} for name, value in entries.items()]


def _path_item(item: Plain) -> Plain:
    methods = {name: _operation(value) for name, value in item.items() if name != "parameters"}
    return {**methods, "parameters": [_parameter(each) for each in item["parameters"]]}


def _operation(operation: Plain) -> Plain:
    return {
        "operation_id": operation["operationId"],
        "parameters": [_parameter(each) for each in operation["parameters"]],
        "responses": {"response_code": _named(operation["responses"], _response)},
        "vendor_extension": _extensions(operation),
    }


def _parameter(parameter: Plain) -> Plain:
    shaped = {_RENAMED.get(name, name): value for name, value in parameter.items()}
    if parameter["in"] == "body":
        return {"parameter": {"body_parameter": shaped | {"schema": _schema(parameter["schema"])}}}
    return {"parameter": {"non_body_parameter": {f"{parameter['in']}_parameter_sub_schema": shaped}}}


def _response(response: Plain) -> Plain:
    schema = {"schema": {"schema": _schema(response["schema"])}} if "schema" in response else {}
    return {"response": {"description": response["description"], **schema}}


def _schema(schema: Plain) -> Plain:
    shaped: Plain = {name: schema[name] for name in ("format", "description", "required") if name in schema}
    if "$ref" in schema:
        shaped["_ref"] = schema["$ref"]
    if "type" in schema:
        shaped["type"] = {"value": [schema["type"]]}
    if "enum" in schema:
        shaped["enum"] = [_any(value) for value in schema["enum"]]
    if "default" in schema:
        shaped["default"] = _any(schema["default"])
    if "items" in schema:
        shaped["items"] = {"schema": [_schema(schema["items"])]}
    if "properties" in schema:
        shaped["properties"] = {"additional_properties": _named(schema["properties"], _schema)}
    if "additionalProperties" in schema:
        shaped["additional_properties"] = _additional_properties(schema["additionalProperties"])
    return {**shaped, "vendor_extension": _extensions(schema)}


def _additional_properties(value: Plain | bool) -> Plain:
    return {"boolean": value} if isinstance(value, bool) else {"schema": _schema(value)}


def _extensions(entry: Plain) -> list[Plain]:
    return [{"name": name, "value": _any(value)} for name, value in entry.items() if name.startswith("x-")]


def _any(value: Any) -> Plain:
    return {"yaml": json.dumps(value)}  # every JSON text is YAML
