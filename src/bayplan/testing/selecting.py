"""Selectors in tests, written as for `kubectl -l`, or as a map of labels.

Gives the structs of `bayplan.model`; text that is no selector is a ValueError. A missing selector and an
empty one ("") mean different things to Kubernetes, so None is never made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from bayplan.model.meta import LabelSelector, LabelSelectorRequirement
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm

Labels: TypeAlias = Mapping[str, str]
Selecting: TypeAlias = LabelSelector | Labels | str


def selector(given: Selecting) -> LabelSelector:
    """A map of labels, or text: `app=x, tier in (a, b), zone notin (c), gpu, !spot`; "" selects all."""
    if isinstance(given, LabelSelector):
        return given
    if not isinstance(given, str):
        return LabelSelector(match_labels=dict(given))
    return LabelSelector(
        match_expressions=[LabelSelectorRequirement(key=k, operator=o, values=v) for k, o, v in _parsed(given)]
    )


def node_term(text: str) -> NodeSelectorTerm:
    """As `selector`, and `cores > 4`, `cores < 8`; the key `metadata.name` becomes a match field."""
    requirements = [NodeSelectorRequirement(key=k, operator=o, values=v) for k, o, v in _parsed(text)]
    return NodeSelectorTerm(
        match_expressions=[r for r in requirements if r.key != "metadata.name"],
        match_fields=[r for r in requirements if r.key == "metadata.name"],
    )


_REQUIREMENT = re.compile(
    r"\s*(?:!\s*(?P<absent>[^\s,!=<>()]+)"
    r"|(?P<key>[^\s,!=<>()]+)\s*(?:(?P<set>in|notin)\s*\((?P<values>[^)]*)\)|(?P<sign>==|!=|=|<|>)\s*(?P<value>[^\s,]*))?"
    r")\s*(?:,|$)"
)
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", "<": "Lt", ">": "Gt"}


def _parsed(text: str) -> Iterable[tuple[str, str, list[str]]]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise ValueError(f"not a selector from character {position} on: {text!r}")
        position = found.end()
        if found["absent"]:
            yield found["absent"], "DoesNotExist", []
        elif found["set"]:
            yield found["key"], _OPERATORS[found["set"]], [v.strip() for v in found["values"].split(",")]
        elif found["sign"]:
            yield found["key"], _OPERATORS[found["sign"]], [found["value"]]
        else:
            yield found["key"], "Exists", []
