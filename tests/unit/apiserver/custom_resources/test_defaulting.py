"""Defaults of a schema are filled in where nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.defaulting import with_defaults
from bayplan.apiserver.custom_resources.structural import Schema

Part = dict[str, Any]
ONE: Part = {"type": "integer", "default": 1}
INNER: Part = {"type": "object", "properties": {"b": ONE}}


@pytest.mark.parametrize(
    ("schema", "value", "filled"),
    [
        pytest.param(ONE, {}, {"a": 1}, id="absent"),
        pytest.param(ONE, {"a": 5}, {"a": 5}, id="given"),
        pytest.param({**ONE, "default": 0}, {}, {"a": 0}, id="zero is a default"),
        pytest.param(ONE, {"a": None}, {"a": 1}, id="null that may not be"),
        pytest.param({**ONE, "nullable": True}, {"a": None}, {"a": None}, id="null that may be"),
        pytest.param(INNER, {}, {}, id="an object that is absent stays so"),
        pytest.param(INNER, {"a": {}}, {"a": {"b": 1}}, id="inside of an object"),
        pytest.param({**INNER, "default": {}}, {}, {"a": {"b": 1}}, id="inside of a default"),
        pytest.param({"type": "array", "items": INNER}, {"a": [{}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 2}]}, id="items"),
        pytest.param(
            {"type": "object", "additionalProperties": INNER}, {"a": {"x": {}}}, {"a": {"x": {"b": 1}}}, id="map"
        ),
        pytest.param({"type": "array", "items": ONE}, {"a": [None]}, {"a": [1]}, id="null in a list"),
    ],
)
def test_defaults(schema: Part, value: Part, filled: Part) -> None:
    before = repr(value)
    assert with_defaults(value, Schema({"type": "object", "properties": {"a": schema}})) == filled
    assert repr(value) == before
