"""The printer of a custom resource, from the `additionalPrinterColumns` of its definition.

Each column shows the first value that its JSONPath finds, in the column's type; times show as ages. A cell is null
where nothing is found or the value has another type. Paths were checked when the definition was created; the columns
from the first unreadable path on are left out, as upstream does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.apiserver.json_paths import Path, PathError, parse_path, value_text
from bayplan.apiserver.tables.ages import since
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer

_DEFAULT_COLUMNS = (
    {
        "name": AGE.name,
        "type": "date",
        "description": AGE.description,
        "jsonPath": ".metadata.creationTimestamp",
    },
)


def custom_printer(definitions: Iterable[Mapping[str, Any]]) -> Printer:
    """The printer of resources whose definition has these columns; without any, the age shows."""
    columns: list[tuple[Column, Path]] = []
    for definition in list(definitions) or _DEFAULT_COLUMNS:
        try:
            columns.append((_column(definition), parse_path(definition["jsonPath"])))
        except PathError:
            break

    def cells(document: Document, now: int) -> Cells:
        return [document["metadata"].get("name", ""), *(_cell(column, path, document, now) for column, path in columns)]

    return Printer((NAME, *(column for column, _ in columns)), cells)


def _column(definition: Mapping[str, Any]) -> Column:
    path = definition["jsonPath"]
    return Column(
        definition["name"],
        definition.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        definition["type"],
        definition.get("format", ""),
        definition.get("priority", 0),
    )


def _cell(column: Column, path: Path, document: Document, now: int) -> Any:
    try:
        found = path([document])
    except PathError:
        return None
    if not found:
        return None
    return value_text(found[0]) if column.type == "string" else _typed(column.type, found[0], now)


def _typed(kind: str, value: Any, now: int) -> Any:
    match kind, value:
        case "boolean", bool():
            return value
        case (("integer" | "number"), bool()):
            return None
        case "integer", int() | float():
            return int(value)
        case "number", int() | float():
            return float(value)
        case "date", str():
            return _age(value, now)
    return None


def _age(time: str, now: int) -> str:
    try:
        return since(time, now)
    except ValueError:
        return "<invalid>"
