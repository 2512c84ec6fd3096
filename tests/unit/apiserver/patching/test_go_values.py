"""Values as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.patching.go_values import go_json, go_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, "x"], "a": {"c": None}}, "map[a:map[c:<nil>] b:[1 x]]"),
        ({"spec": {"replicas": "many"}}, "map[spec:map[replicas:many]]"),
        ([True, False, 1.5], "[true false 1.5]"),
    ],
)
def test_text(value: Any, text: str) -> None:
    assert go_text(value) == text


def test_json_is_sorted_and_safe_inside_html() -> None:
    assert go_json({"b": "<é&>", "a": [1, None]}) == '{"a":[1,null],"b":"\\u003cé\\u0026\\u003e"}'
