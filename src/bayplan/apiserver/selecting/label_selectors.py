"""Label selectors as they are written in queries: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`.

Gives the compiled selectors of `model.selectors`, one for each text however often it is asked for. What cannot be read
is a BadRequest in upstream's words. Selectors inside objects are `model.selectors`' own business.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Final, NamedTuple

from bayplan.model.names import label_key_faults
from bayplan.model.pod import NodeSelectorRequirement
from bayplan.model.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    CompiledSelector,
    LabelRequirement,
    SelectorError,
    compile_node_requirement,
)
from bayplan.store.errors import BadRequest

# Upstream: apimachinery/pkg/labels/selector.go (v1.36).
_TOKEN = re.compile(r"[ \t\r\n]*(?:(!=|==|[=!(),<>])|([^=!(),<> \t\r\n]+))")
_OPERATORS = {"in": IN, "notin": NOT_IN, "=": IN, "==": IN, "!=": NOT_IN, ">": GT, "<": LT}
_OPERATOR_NAMES: Final = "in, notin, =, ==, !=, gt, lt"
_END: Final = ""


@lru_cache(maxsize=4_096)
def parse_label_selector(text: str) -> CompiledSelector:
    """The selector that a query asks for; an empty text selects everything."""
    try:
        return CompiledSelector(tuple(sorted(set(_Parser(text).requirements()))))
    except SelectorError as problem:
        raise BadRequest(str(problem)) from None


class _Token(NamedTuple):
    """A piece of the text: a sign or a word; the end is an empty sign."""

    text: str
    is_word: bool = False

    def is_any(self, *texts: str) -> bool:
        return not self.is_word and self.text in texts


class _Parser:
    """Reads requirements one after another."""

    def __init__(self, text: str) -> None:
        pieces = [_Token(match[1] or match[2], match[2] is not None) for match in _TOKEN.finditer(text)]
        self._tokens = [*pieces, _Token(_END)]
        self._position = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[min(self._position, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._next
        self._position += 1
        return token

    def requirements(self) -> list[LabelRequirement]:
        found: list[LabelRequirement] = []
        while not self._next.is_any(_END):
            if not self._starts_requirement():
                raise SelectorError(f"found '{self._next.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as problem:
                raise SelectorError(f"unable to parse requirement: {problem}") from None
            self._check_separator(self._take())
        return found

    def _starts_requirement(self) -> bool:
        return self._next.is_word or self._next.is_any("!")

    def _check_separator(self, token: _Token) -> None:
        if token.is_any(_END):
            return
        if not token.is_any(","):
            raise SelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
        if not self._starts_requirement():
            raise SelectorError(f"found '{self._next.text}', expected: identifier after ','")

    def _requirement(self) -> LabelRequirement:
        if self._next.is_any("!"):
            self._take()
            return LabelRequirement(self._key(), DOES_NOT_EXIST)
        key = self._key()
        if self._next.is_any(_END, ","):
            return LabelRequirement(key, EXISTS)
        sign = self._take()
        if sign.text not in _OPERATORS:
            raise SelectorError(f"found '{sign.text}', expected: {_OPERATOR_NAMES}")
        values = self._set() if sign.is_word else [self._value()]
        return compile_node_requirement(
            NodeSelectorRequirement(key=key, operator=_OPERATORS[sign.text], values=sorted(set(values)))
        )

    def _key(self) -> str:
        key = self._take()
        if not key.is_word:
            raise SelectorError(f"found '{key.text}', expected: identifier")
        faults = label_key_faults(key.text)
        if faults:
            quoted = json.dumps(key.text, ensure_ascii=False)
            raise SelectorError(f"<nil>: Invalid value: {quoted}: {'; '.join(faults)}")
        return key.text

    def _value(self) -> str:
        if self._next.is_any(_END, ","):
            return ""
        value = self._take()
        if not value.is_word:
            raise SelectorError(f"found '{value.text}', expected: identifier")
        return value.text

    def _set(self) -> list[str]:
        opening = self._take()
        if not opening.is_any("("):
            raise SelectorError(f"found '{opening.text}' expected: '('")
        if self._next.is_any(")"):
            self._take()
            return [""]
        if not self._next.is_word and not self._next.is_any(","):
            raise SelectorError(f"found '{self._next.text}', expected: ',', ')' or identifier")
        return self._set_values()

    def _set_values(self) -> list[str]:
        """Up to the closing parenthesis; nothing between two commas stands for an empty value."""
        values: list[str] = []
        while True:
            token = self._take()
            if token.is_word:
                values.append(token.text)
                if not self._next.is_any(",", ")"):
                    raise SelectorError(f"found '{self._next.text}', expected: ',' or ')'")
            elif token.is_any(","):
                if not values or self._next.is_any(",", ")"):
                    values.append("")
            else:
                raise SelectorError(f"found '{token.text}', expected: ',', or identifier")
            if self._next.is_any(")"):
                self._take()
                return values
