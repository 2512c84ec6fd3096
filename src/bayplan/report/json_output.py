"""Answers for programs: indented JSON, or YAML; keys in the order in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import msgspec
import yaml


def write_json(plain: Mapping[str, Any] | msgspec.Struct, stream: TextIO) -> None:
    """One document and a newline."""
    stream.write(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
    stream.write("\n")
    stream.flush()


def write_document(plain: Mapping[str, Any] | msgspec.Struct, output: str, stream: TextIO) -> None:
    """As `json` or `yaml`."""
    (write_json if output == "json" else write_yaml)(plain, stream)


def write_yaml(plain: Mapping[str, Any] | msgspec.Struct, stream: TextIO) -> None:
    """One document; what the JSON says."""
    # Read back from JSON, no part is shared: YAML would refer to it by an anchor.
    document = msgspec.json.decode(msgspec.json.encode(plain))
    yaml.safe_dump(document, stream, default_flow_style=False, sort_keys=False, allow_unicode=True)
    stream.flush()
