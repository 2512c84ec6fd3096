"""Replies that stay small, and say what was left out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.assistant.replies import reply_of, shorten
from bayplan.report.answers.parts import Details, Next, Part, Sentence

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text("ab/.-", min_size=1, max_size=4), inner, max_size=6)
    ),
    max_leaves=40,
)


def test_sentences_commands_and_the_document() -> None:
    parts: list[Part] = [Sentence("No."), Sentence("Why."), Next("bayplan fix x"), Details([Sentence("left out")])]
    assert reply_of(parts, {"a": 1}, 1000, kubernetes="v1.37", notes=["It is new."]) == {
        "answer": "No.",
        "why": ["Why."],
        "next": ["bayplan fix x"],
        "document": {"a": 1},
        "kubernetes": "v1.37",
        "notes": ["It is new."],
        "shortened": [],
    }


def test_the_longest_list_is_cut_first() -> None:
    document: dict[str, Any] = {"few": list(range(5)), "many": [{"name": f"node-{number}"} for number in range(500)]}
    assert shorten(document, 1_000) == ["many: 500 in full"]
    assert document["few"] == [0, 1, 2, 3, 4]
    assert document["many"][0] == {"name": "node-0"}


def test_maps_by_names_are_cut_like_lists_but_fields_are_not() -> None:
    document: dict[str, Any] = {
        "filter": {f"node-{number}": {"code": "x" * 20, "reasons": ["y"]} for number in range(300)}
    }
    assert shorten(document, 2_000) == ["filter: 300 in full"]
    assert set(next(iter(document["filter"].values()))) == {"code", "reasons"}


@given(st.dictionaries(st.sampled_from("abcd"), PLAIN), st.integers(10, 400))
def test_it_ends_and_only_removes(document: dict[str, object], most: int) -> None:
    before = msgspec.json.encode(document)
    copy = msgspec.json.decode(before)
    cut = shorten(copy, most)
    after = msgspec.json.encode(copy)
    assert len(after) <= len(before)
    assert (copy == document) == (not cut)
    if len(before) <= most:
        assert not cut


@pytest.mark.parametrize("length", [2, 1000])
def test_something_is_left_of_each_list(length: int) -> None:
    document = {"a": ["x" * 50] * length}
    shorten(document, 10)
    assert document["a"] == ["x" * 50]
