"""Field selectors of queries: terms, escaping, and how unreadable ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import resource_of
from bayplan.apiserver.selecting.field_selectors import FieldSelector, parse_field_selector
from bayplan.store import BadRequest


def selector(text: str, *where: str) -> FieldSelector:
    resource = resource_of(*(where or ("", "v1", "pods")))
    assert resource is not None
    return parse_field_selector(text, kind_of(resource).selectable)


def pod(name: str = "p", node: str = "n1", phase: str = "Running") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "a"}, "spec": {"nodeName": node}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "metadata.name=p",
        "metadata.name==p",
        "metadata.namespace=a,spec.nodeName=n1",
        "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed",
        "status.podIP=",
        "status.podIPs!=x",
    ],
)
def test_all_terms_hold(text: str) -> None:
    assert selector(text).matches(pod())


@pytest.mark.parametrize(
    "text", ["metadata.name=q", "metadata.name!=p", "spec.nodeName=n1,status.phase!=Running", "status.podIPs=1.1.1.1"]
)
def test_one_term_does_not_hold(text: str) -> None:
    assert not selector(text).matches(pod())


@pytest.mark.parametrize(("text", "name"), [(r"a\,b", "a,b"), (r"a\=b", "a=b"), (r"a\\b", "a\\b"), ("a b", "a b")])
def test_signs_in_values_are_escaped(text: str, name: str) -> None:
    assert selector(f"metadata.name={text},spec.nodeName=n1").matches(pod(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        ("metadata.name=a,abc", "invalid selector: 'metadata.name=a,abc'; can't understand 'abc'"),
        ("zzz,abc", "invalid selector: 'zzz,abc'; can't understand 'abc'"),
        (r"metadata.name=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name===a", "invalid field selector: unescaped character in value: 61"),
        ("spec.priority=5", "field label not supported: spec.priority"),
        ("spec.zzz=1,spec.aaa=2", "field label not supported: spec.aaa"),
        ("=5", "field label not supported: "),
    ],
)
def test_what_cannot_be_read_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        selector(text)
    assert refusal.value.message == message


def test_a_value_that_a_field_must_have_is_known() -> None:
    found = selector("metadata.name=p,status.phase!=Failed")
    assert found.exact("metadata.name") == "p"
    assert found.exact("status.phase") is None
    assert not found.is_empty
    assert selector("").is_empty
