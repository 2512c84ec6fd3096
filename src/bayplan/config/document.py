"""A configuration file to plain data.

Takes the path of a YAML or JSON file and returns the one object in it. A repeated key is a fault, as in kube-scheduler,
which decodes strictly; so are several documents. Does not interpret the keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from bayplan.config.faults import Faults

_YamlLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_document(path: Path, faults: Faults) -> dict[str, Any]:
    """The object in the file; raises `InvalidObject` where there is none."""
    data = _parse(_read_text(path, faults), faults)
    if not isinstance(data, dict):
        faults.add("", "expected one object, got an empty document" if data is None else "expected one object")
    faults.raise_if_any()
    assert isinstance(data, dict)
    return data


def _read_text(path: Path, faults: Faults) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        faults.add("", "is not UTF-8 text")
    faults.raise_if_any()
    raise AssertionError("a file that cannot be read is a fault")


def _parse(text: str, faults: Faults) -> Any:
    try:
        # JSON may be indented with tabs, which YAML refuses.
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=_unique_pairs)
        return yaml.load(text, Loader=_StrictLoader)
    except (ValueError, yaml.YAMLError) as error:
        faults.add("", f"is neither valid YAML nor JSON: {' '.join(str(error).split())}")
    return {}


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"key {key!r} is already set")
        unique[key] = value
    return unique


class _StrictLoader(_YamlLoader):  # type: ignore[misc]  # PyYAML picks the class at run time
    """The safe loader, without silently keeping the last of repeated keys."""


def _construct_unique_mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value if key.tag != _MERGE_TAG]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is already set", node.start_mark)
    mapping: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return mapping


_MERGE_TAG = "tag:yaml.org,2002:merge"
_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_unique_mapping)
