"""What Go says about a text that is not JSON: the words a client gets for a broken body.

Takes the bytes of a body that a JSON parser refused; gives the message of Go's scanner, or an empty text if Go would
have accepted it. Only for bodies that are known to be bad: it reads them byte by byte.
"""

import re
from collections.abc import Callable
from typing import NoReturn

UNEXPECTED_END = "unexpected end of JSON input"
MAX_DEPTH = 10_000

_BLANKS = re.compile(rb"[ \t\r\n]*")
_DIGITS = re.compile(rb"[0-9]*")
_PLAIN_TEXT = re.compile(rb'[^"\\\x00-\x1f]*')
_HEX_DIGITS = "0123456789abcdefABCDEF"
_CLOSING = {"{": "}", "[": "]"}
_WORDS = {"t": "true", "f": "false", "n": "null"}
_GO_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}


class _Fault(Exception):  # noqa: N818
    """Carries the message."""


def syntax_fault(text: bytes) -> str:
    """Why this is not JSON, in Go's words; empty if it is."""
    try:
        _Scanner(text).scan()
    except _Fault as fault:
        return str(fault)
    return ""


class _Scanner:
    """Each step reads a little and returns the next step; no recursion, because bodies may be deeply nested."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []  # brackets

    def scan(self) -> None:
        step: _Step | None = self._value
        while step is not None:
            step = step()

    def _value(self) -> "_Step":
        start = self._next()
        if start in _CLOSING:
            return self._container
        if start == '"':
            self._string()
        elif start == "-" or start.isdigit():
            self._number()
        elif start in _WORDS:
            self._word(_WORDS[start])
        else:
            self._fail("looking for beginning of value")
        return self._after_value

    def _container(self) -> "_Step":
        bracket = self._next()
        if len(self._open) == MAX_DEPTH:
            self._fail("exceeded max depth")
        self._open.append(bracket)
        self._at += 1
        if self._next() == _CLOSING[bracket]:
            return self._after_value
        return self._key if bracket == "{" else self._value

    def _key(self) -> "_Step":
        if self._next() != '"':
            self._fail("looking for beginning of object key string")
        self._string()
        if self._next() != ":":
            self._fail("after object key")
        self._at += 1
        return self._value

    def _after_value(self) -> "_Step | None":
        if not self._open:
            if self._skip_blanks():
                self._fail("after top-level value")
            return None
        bracket, following = self._open[-1], self._next()
        if following == _CLOSING[bracket]:
            self._open.pop()
        elif following != ",":
            self._fail("after object key:value pair" if bracket == "{" else "after array element")
        self._at += 1
        if following == ",":
            return self._key if bracket == "{" else self._value
        return self._after_value

    def _string(self) -> None:
        self._at += 1
        while True:
            self._match(_PLAIN_TEXT)
            character = self._peek()
            if character not in {'"', "\\"}:
                self._fail("in string literal")
            self._at += 1
            if character == '"':
                return
            self._escape()

    def _escape(self) -> None:
        kind = self._peek()
        if kind not in 'bfnrt\\/"u':
            self._fail("in string escape code")
        self._at += 1
        for _ in range(4 if kind == "u" else 0):
            if self._peek() not in _HEX_DIGITS:
                self._fail("in \\u hexadecimal character escape")
            self._at += 1

    def _number(self) -> None:
        if self._peek() == "-":
            self._at += 1
        if self._peek() == "0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._text[self._at : self._at + 1] == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._text[self._at : self._at + 1] in {b"e", b"E"}:
            self._at += 1
            if self._peek() in "+-":
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, context: str) -> None:
        if not self._peek().isdigit():
            self._fail(context)
        self._match(_DIGITS)

    def _word(self, word: str) -> None:
        for letter in word:
            if self._peek() != letter:
                self._fail(f"in literal {word} (expecting '{letter}')")
            self._at += 1

    def _next(self) -> str:
        """The next character that is not blank."""
        self._skip_blanks()
        return self._peek()

    def _skip_blanks(self) -> bool:
        """Whether anything follows the blanks."""
        self._match(_BLANKS)
        return self._at < len(self._text)

    def _peek(self) -> str:
        if self._at == len(self._text):
            raise _Fault(UNEXPECTED_END)
        return chr(self._text[self._at])

    def _match(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _fail(self, context: str) -> NoReturn:
        raise _Fault(f"invalid character {_quoted(self._peek())} {context}")


_Step = Callable[[], "_Step | None"]


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character in _GO_ESCAPES:
        return f"'{_GO_ESCAPES[character]}'"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{ord(character):02x}'" if ord(character) < 0x80 else f"'\\u{ord(character):04x}'"
