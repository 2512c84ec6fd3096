"""Answers for programs: indented JSON, keys in the order in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import msgspec


def write_json(plain: Mapping[str, Any] | msgspec.Struct, stream: TextIO) -> None:
    """One document and a newline."""
    stream.write(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
    stream.write("\n")
    stream.flush()
