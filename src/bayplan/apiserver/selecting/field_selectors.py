"""Field selectors as they are written in queries: `spec.nodeName=n1,status.phase!=Running`.

`\\`, `,` and `=` in a value are escaped with a backslash. What cannot be read, and a field that the resource cannot be
selected by, is a BadRequest in upstream's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bayplan.apiserver.selecting.selectable_fields import Getter, SelectableFields
from bayplan.store.errors import BadRequest

# Upstream: apimachinery/pkg/fields/selector.go (v1.36).
_TERM = re.compile(r"(?:\\.?|[^\\,])*", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(.?)|([,=])", re.DOTALL)


class _Term(NamedTuple):
    field: str
    is_equal: bool
    value: str


class FieldSelector:
    """Terms that must all hold; without any, everything is selected."""

    def __init__(self, terms: tuple[_Term, ...], getters: tuple[Getter, ...]) -> None:
        self._exact = {term.field: term.value for term in reversed(terms) if term.is_equal}
        self._checks = [(getter, term.value, term.is_equal) for term, getter in zip(terms, getters, strict=True)]

    @property
    def is_empty(self) -> bool:
        return not self._checks

    def matches(self, document: Mapping[str, Any]) -> bool:
        return all((getter(document) == value) is is_equal for getter, value, is_equal in self._checks)

    def exact(self, field: str) -> str | None:
        """The value that the field must have, if there is one; spares looking at other documents."""
        return self._exact.get(field)


def parse_field_selector(text: str, fields: SelectableFields) -> FieldSelector:
    """The selector that a query asks for; an empty text selects everything."""
    terms = _parse(text)
    return FieldSelector(terms, tuple(_getter(term.field, fields) for term in terms))


def _getter(field: str, fields: SelectableFields) -> Getter:
    getter = fields.getter(field)
    if getter is None:
        raise BadRequest(fields.refusal(field))
    return getter


@lru_cache(maxsize=4_096)
def _parse(text: str) -> tuple[_Term, ...]:
    # Upstream sorts the terms, which shows in which of several faults is reported.
    return tuple(_term(part, text) for part in sorted(_TERM.findall(text)) if part)


def _term(part: str, text: str) -> _Term:
    operator = _OPERATOR.search(part)
    if operator is None:
        raise BadRequest(f"invalid selector: '{text}'; can't understand '{part}'")
    value = _ESCAPED.sub(_unescaped, part[operator.end() :])
    return _Term(part[: operator.start()], operator[0] != "!=", value)


def _unescaped(match: re.Match[str]) -> str:
    if match[2]:
        raise BadRequest(f"invalid field selector: unescaped character in value: {ord(match[2])}")
    if match[1] not in ("\\", ",", "="):
        raise BadRequest(f"invalid field selector: invalid escape sequence: \\{match[1]}")
    return match[1]
