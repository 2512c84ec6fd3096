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


def write_yaml(plain: Mapping[str, Any], stream: TextIO) -> None:
    """One document; what the JSON says."""
    document = msgspec.to_builtins(plain)
    yaml.dump(document, stream, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True)
    stream.flush()


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is equal is written out each time, as kubectl does."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True
