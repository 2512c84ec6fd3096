"""Documents of `-o json` compared with their published schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from website.reference.schemas import FOLDER, file_name


def check_document(document: Mapping[str, Any]) -> None:
    """Also refuses fields that the schema does not name, which it allows for the sake of later releases."""
    _strict_validator(document["format"]).validate(document)


@cache
def _strict_validator(form: str) -> Draft202012Validator:
    return Draft202012Validator(_closed(json.loads((FOLDER / file_name(form)).read_text(encoding="utf-8"))))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(inner) for name, inner in schema.items()}
    return {"additionalProperties": False, **closed} if isinstance(schema.get("properties"), dict) else closed
