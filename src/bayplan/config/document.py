"""A configuration file to plain data.

Takes the path of a YAML or JSON file and returns the one object in it. A repeated key is a fault, as in kube-scheduler,
which decodes strictly; so are several documents. Does not interpret the keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bayplan.config.faults import ConfigFaults
from bayplan.model.yaml_documents import parse_yaml


def read_document(path: Path, faults: ConfigFaults) -> dict[str, Any]:
    """The object in the file; raises `InvalidObject` where there is none."""
    data = _parse(_read_text(path, faults), faults)
    if not isinstance(data, dict):
        faults.add("", "expected one object, got an empty document" if data is None else "expected one object")
    faults.raise_if_any()
    assert isinstance(data, dict)
    return data


def _read_text(path: Path, faults: ConfigFaults) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        faults.add("", "is not UTF-8 text")
    faults.raise_if_any()
    raise AssertionError("a file that cannot be read is a fault")


def _parse(text: str, faults: ConfigFaults) -> Any:
    try:
        # JSON may be indented with tabs, which YAML refuses.
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=_unique_pairs)
        documents = [*parse_yaml(text.encode())]
    except ValueError as error:
        faults.add("", f"is neither valid YAML nor JSON: {error}")
        return {}
    if len(documents) > 1:
        faults.add("", f"expected one document, got {len(documents)}")
        return {}
    return documents[0] if documents else None


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"duplicate key {key!r}")
        unique[key] = value
    return unique
