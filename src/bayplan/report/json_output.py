"""Answers for programs: indented JSON, or YAML; keys in the order in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import msgspec
import yaml

from bayplan.report.hidden_characters import escaped_in_json, has_hidden


def tagged(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """A document that says which schema it follows: `docs/schemas/v1` has them all."""
    return {"format": _format(name), **document}


def answer_document(name: str, kubernetes_version: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """An answer, which also says which version's scheduler would give it."""
    return {"format": _format(name), "kubernetesVersion": kubernetes_version, **document}


def _format(name: str) -> str:
    return f"bayplan {name} v1"


def write_json(plain: Mapping[str, Any] | msgspec.Struct, stream: TextIO) -> None:
    """One document and a newline."""
    stream.write(escaped_in_json(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()))
    stream.write("\n")
    stream.flush()


def write_document(plain: Mapping[str, Any] | msgspec.Struct, output: str, stream: TextIO) -> None:
    """As `json` or `yaml`."""
    (write_json if output == "json" else write_yaml)(plain, stream)


def write_yaml(plain: Mapping[str, Any] | msgspec.Struct, stream: TextIO) -> None:
    """One document; what the JSON says."""
    # Read back from JSON, no part is shared: YAML would refer to it by an anchor.
    text = msgspec.json.encode(plain).decode()
    document, readable = msgspec.json.decode(text), not has_hidden(text)
    yaml.safe_dump(document, stream, default_flow_style=False, sort_keys=False, allow_unicode=readable)
    stream.flush()
