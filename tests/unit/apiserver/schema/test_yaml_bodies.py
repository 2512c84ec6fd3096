"""YAML bodies, and Go's words for broken ones."""

from __future__ import annotations

import pytest

from bayplan.apiserver.schema.yaml_bodies import InvalidYaml, parse_yaml_body


def test_the_first_document_counts() -> None:
    assert parse_yaml_body(b"a: 1\n---\nb: 2\n") == ({"a": 1}, "")
    assert parse_yaml_body(b"") == (None, "")


def test_of_keys_given_twice_the_last_counts_and_each_is_named_with_the_line_of_its_value() -> None:
    text = b"a: 1\nb:\n  c: 1\n  c:\n    d: 2\na: 2\nb: {x: 1, x: 2}\n"
    value, fault = parse_yaml_body(text)
    assert value == {"a": 2, "b": {"x": 2}}
    assert fault == "\n".join(
        [
            "yaml: unmarshal errors:",
            '  line 5: key "c" already set in map',
            '  line 6: key "a" already set in map',
            '  line 7: key "x" already set in map',
            '  line 7: key "b" already set in map',
        ]
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: [1\nb: 2", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a: 1\n\tb: 2\n", "yaml: line 2: found a tab character that violates indentation"),
        (b"a: b: c\n", "yaml: mapping values are not allowed in this context"),
        (b'a: "x\n', "yaml: line 2: found unexpected end of stream"),
    ],
)
def test_what_is_no_yaml_is_refused_with_the_words_of_go(text: bytes, why: str) -> None:
    with pytest.raises(InvalidYaml) as refused:
        parse_yaml_body(text)
    assert str(refused.value) == why


@pytest.mark.parametrize("text", [b"a: \xff", b"b: *y\n", b"[" * 5_000, b"? [1]\n: 2\n"])
def test_other_broken_texts_are_refused_too(text: bytes) -> None:
    with pytest.raises(InvalidYaml, match=r"^yaml: "):
        parse_yaml_body(text)
