"""Label selectors of queries: what they select, and how unreadable ones are refused."""

from __future__ import annotations

import pytest

from bayplan.apiserver.selecting.label_selectors import parse_label_selector
from bayplan.store import BadRequest

LABEL_SYNTAX = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
KEY_SYNTAX = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABELS = {"app": "web", "tier": "", "n": "7", "in": "yes", "example.com/x": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "app=web",
        "app==web",
        " app = web ",
        "app!=db",
        "absent!=db",
        "app",
        "!absent",
        "! absent",
        "app in (db,web)",
        "app in ( web )",
        "app notin (db)",
        "absent notin (db)",
        "tier=",
        "tier in ()",
        "tier in (,)",
        "tier in (a,,b)",
        "tier in (a,)",
        "tier,app=web",
        "tier=,app=web",
        "n>6",
        "n<8",
        "in=yes",
        "in in (in,yes)",
        "in,app",
        "example.com/x=1",
        "app=web,app!=db,n>6",
    ],
)
def test_the_labels_are_selected(text: str) -> None:
    assert parse_label_selector(text).matches(LABELS)


@pytest.mark.parametrize(
    "text",
    ["app=db", "absent=db", "app!=web", "absent", "!app", "app in (db)", "app notin (web,db)", "n>7", "n<7", "app>1"],
)
def test_the_labels_are_not_selected(text: str) -> None:
    assert not parse_label_selector(text).matches(LABELS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a==(b)", "unable to parse requirement: found '(', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY_SYNTAX}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {LABEL_SYNTAX}'),
        (
            "a in (-b,-c)",
            f'unable to parse requirement: [values[0][a]: Invalid value: "-b": {LABEL_SYNTAX}, '
            f'values[1][a]: Invalid value: "-c": {LABEL_SYNTAX}]',
        ),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        parse_label_selector(text)
    assert refusal.value.message == message


def test_the_same_text_is_compiled_once() -> None:
    assert parse_label_selector("a=b,c") is parse_label_selector("a=b,c")
