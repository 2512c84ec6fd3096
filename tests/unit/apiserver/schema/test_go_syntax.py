"""Go's words for text that is not JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.schema.go_syntax import MAX_DEPTH, UNEXPECTED_END, syntax_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", UNEXPECTED_END),
        (b'{"a":{', UNEXPECTED_END),
        (b'"a', UNEXPECTED_END),
        (b"-", UNEXPECTED_END),
        (b"{not json", "invalid character 'n' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"<a/>", "invalid character '<' looking for beginning of value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{} {}", "invalid character '{' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b"nul1", "invalid character '1' in literal null (expecting 'l')"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b"'a'", r"invalid character '\'' looking for beginning of value"),
        (b"\x00", r"invalid character '\x00' looking for beginning of value"),
        (b"\x80", r"invalid character '\u0080' looking for beginning of value"),
        (b"[" * (MAX_DEPTH + 1), "invalid character '[' exceeded max depth"),
    ],
)
def test_the_first_character_that_is_wrong_is_named_with_what_was_expected(text: bytes, fault: str) -> None:
    assert syntax_fault(text) == fault


@given(st.text(alphabet='{}[]",:01e.-+tfnrualse \\\n', max_size=12))
def test_there_is_a_fault_exactly_if_the_text_is_not_json(text: str) -> None:
    try:
        json.loads(text)
        is_json = True
    except ValueError:
        is_json = False
    assert (syntax_fault(text.encode()) == "") == is_json


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_json_has_no_fault(value: object) -> None:
    assert syntax_fault(json.dumps(value, indent=1).encode()) == ""
