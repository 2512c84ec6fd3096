"""What is wrong with a JSON text, in the words of Go's parser. Asked only once a text has been refused."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS: Final = (b"true", b"false", b"null")
_END = "unexpected end of JSON input"
DEPTH_MAX: Final = 10_000


class _Fault(Exception):  # noqa: N818 - what it says is no error of ours
    """The text ends or goes wrong here."""


def json_fault(text: bytes) -> str:
    """The first fault of a text that is not JSON."""
    try:
        position = _Scanner(text).scan()
    except _Fault as fault:
        return str(fault)
    if position < len(text):
        return f"{_character(text, position)} after top-level value"
    return "invalid JSON"


def _character(text: bytes, position: int) -> str:
    byte = text[position : position + 1]
    shown = {b"'": r"'\''", b'"': "'\"'"}.get(byte)
    if shown is None:
        letter = byte.decode("latin-1")
        shown = f"'{letter}'" if letter.isprintable() and byte < b"\x80" else f"'\\x{byte[0]:02x}'"
    return f"invalid character {shown}"


class _Scanner:
    """Walks through a text without building anything; nesting is a list of its own, so that no depth overflows."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0

    def scan(self) -> int:
        """The end of the first value."""
        open_brackets: list[int] = []
        self._value_or_open(open_brackets)
        while open_brackets:
            self._after_value(open_brackets)
        self._skip_blanks()
        return self._at

    def _value_or_open(self, open_brackets: list[int]) -> None:
        """Reads a scalar, or opens a container and everything that it begins with."""
        while True:
            self._skip_blanks()
            byte = self._peek()
            if byte not in b"{[":
                self._scalar()
                return
            open_brackets.append(byte[0])
            if len(open_brackets) > DEPTH_MAX:
                raise _Fault("exceeded max depth")
            self._at += 1
            self._skip_blanks()
            closing = b"}" if byte == b"{" else b"]"
            if self._peek() == closing:
                self._at += 1
                open_brackets.pop()
                return
            if byte == b"{":
                self._key("looking for beginning of object key string")

    def _after_value(self, open_brackets: list[int]) -> None:
        self._skip_blanks()
        byte, is_object = self._peek(), open_brackets[-1] == ord("{")
        if byte == (b"}" if is_object else b"]"):
            self._at += 1
            open_brackets.pop()
            return
        if byte != b",":
            where = "after object key:value pair" if is_object else "after array element"
            raise self._wrong(where)
        self._at += 1
        self._skip_blanks()
        if is_object:
            self._key("looking for beginning of object key string")
        self._value_or_open(open_brackets)

    def _key(self, otherwise: str) -> None:
        if self._peek() != b'"':
            raise self._wrong(otherwise)
        self._string()
        self._skip_blanks()
        if self._peek() != b":":
            raise self._wrong("after object key")
        self._at += 1

    def _scalar(self) -> None:
        if self._peek() == b'"':
            self._string()
            return
        for literal in _LITERALS:
            if self._text.startswith(literal, self._at):
                self._at += len(literal)
                return
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise self._wrong("looking for beginning of value")
        self._at = number.end()

    def _string(self) -> None:
        self._at += 1
        while self._peek() != b'"':
            if self._peek() < b" ":
                raise self._wrong("in string literal")
            self._at += 2 if self._peek() == b"\\" else 1
        self._at += 1

    def _skip_blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (b" ", b"\t", b"\r", b"\n") and self._at < len(self._text):
            self._at += 1

    def _peek(self) -> bytes:
        if self._at >= len(self._text):
            raise _Fault(_END)
        return self._text[self._at : self._at + 1]

    def _wrong(self, where: str) -> _Fault:
        return _Fault(f"{_character(self._text, self._at)} {where}")
