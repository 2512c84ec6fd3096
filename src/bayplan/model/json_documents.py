"""JSON text cut into its documents, and errors that say where.

A file may hold one document, one for each line, or several after another. Documents are given as views of the
text, not parsed, so that each can be decoded straight into its struct. Text in UTF-16, as some Windows shells
write it, is accepted. Nothing is known here of Kubernetes.
"""

import re
from typing import Any

import msgspec

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_AT_BYTE = re.compile(r" ?\(byte (\d+)\)")
_BLANKS = re.compile(rb"[ \t\r\n]*")
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

_scan = msgspec.json.Decoder(msgspec.Raw).decode
_decode = msgspec.json.Decoder().decode


class JsonError(ValueError):
    """Text that is not JSON; says where."""


def as_text(data: bytes) -> bytes:
    """The text as UTF-8 without byte order mark; ValueError when it is not text."""
    try:
        if data[:2] in _UTF16_BOMS:
            return data.decode("utf-16").encode()
        data = data.removeprefix(_UTF8_BOM)
        if b"\0" in data:
            raise ValueError("is not text: contains a NUL byte")
        data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text: {error.reason} at byte {error.start}") from None
    return data


def split_json(data: bytes) -> list[memoryview]:
    """The documents of the text, in order; JsonError when one is not well formed."""
    view = memoryview(data)
    documents: list[memoryview] = []
    start = _after_blanks(data, 0)
    while start < len(data):
        end = _document_end(data, view, start)
        documents.append(view[start:end])
        start = _after_blanks(data, end)
    return documents


def parse_json(document: msgspec.Raw | memoryview) -> Any:
    """The document as plain values; JsonError when it is not well formed."""
    try:
        return _decode(document)
    except msgspec.DecodeError as error:
        raise JsonError(_located(bytes(document), 0, str(error))) from None
    except RecursionError:
        raise JsonError("nested too deeply") from None


def _after_blanks(data: bytes, start: int) -> int:
    match = _BLANKS.match(data, start)
    assert match is not None
    return match.end()


def _document_end(data: bytes, view: memoryview, start: int) -> int:
    try:
        _scan(view[start:])
    except msgspec.DecodeError as error:
        # The complaint about what follows says where the first document ends: it counts one character of it.
        trailing = _TRAILING.search(str(error))
        if trailing is None:
            raise JsonError(_located(data, start, str(error))) from None
        return start + int(trailing[1]) - 1
    except RecursionError:
        raise JsonError("nested too deeply") from None
    return len(data)


def _located(data: bytes, start: int, message: str) -> str:
    at_byte = _AT_BYTE.search(message)
    position = len(data) if at_byte is None else start + int(at_byte[1])
    line = data.count(b"\n", 0, position) + 1
    column = position - data.rfind(b"\n", 0, position)
    problem = _AT_BYTE.sub("", message).removeprefix("JSON is malformed: ")
    return f"line {line}, column {column}: not JSON: {problem}"
