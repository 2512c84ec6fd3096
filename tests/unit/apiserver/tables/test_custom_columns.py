"""Columns that definitions of custom resources declare."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.custom_columns import custom_printer
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")


def column(path: str, kind: str = "string", **fields: Any) -> Part:
    return {"name": "C", "type": kind, "jsonPath": path, **fields}


def cell(kind: str, value: Any) -> Any:
    return custom_printer([column(".value", kind)]).cells({"metadata": {"name": "x"}, "value": value}, NOW)[1]


def test_without_columns_name_and_age_show() -> None:
    printer = custom_printer([])
    assert [(item["name"], item["type"], item["format"]) for item in printer.definitions] == [
        ("Name", "string", "name"),
        ("Age", "date", ""),
    ]
    assert printer.cells({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}}, NOW) == ["x", "60s"]
    assert not printer.empty_is_null


def test_declared_columns_follow_the_name() -> None:
    printer = custom_printer([column(".a", "integer", format="int32", priority=1, description="Of a.")])
    assert printer.definitions[1:] == [
        {"name": "C", "type": "integer", "format": "int32", "description": "Of a.", "priority": 1}
    ]


def test_a_column_without_description_is_described_by_its_path() -> None:
    description = custom_printer([column(".a")]).definitions[1]["description"]
    assert description == "Custom resource definition column (in JSONPath format): .a"


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "text", "text"),
        ("string", 5, "5"),
        ("string", ["a", "b"], '["a","b"]'),
        ("integer", 5, 5),
        ("integer", 5.9, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 5, 5.0),
        ("number", 0.5, 0.5),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("date", "2026-01-01T00:00:30Z", "30s"),
        ("date", "yesterday", "<invalid>"),
        ("date", 5, None),
        ("integer", None, None),
    ],
)
def test_cells_have_the_columns_type_or_are_null(kind: str, value: Any, shown: Any) -> None:
    assert cell(kind, value) == shown
    assert type(cell(kind, value)) is type(shown)


def test_only_the_first_value_found_shows() -> None:
    printer = custom_printer([column(".ports[*]", "integer")])
    assert printer.cells({"metadata": {"name": "x"}, "ports": [80, 443]}, NOW) == ["x", 80]


@pytest.mark.parametrize("path", [".absent", ".ports[7]"])
def test_what_is_not_there_is_null(path: str) -> None:
    assert custom_printer([column(path)]).cells({"metadata": {"name": "x"}, "ports": []}, NOW) == ["x", None]


def test_columns_from_an_unreadable_path_on_are_left_out() -> None:
    printer = custom_printer([column(".a"), column(".b["), column(".c")])
    assert len(printer.definitions) == 2
