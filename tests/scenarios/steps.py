"""A line of a scenario as a step of a timeline: `scale shop/deployment/web 5`, `label node-2 zone=b old-`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.analysis.simulation.inputs.verbs import VERBS, BadStep, Step


def step_of_words(verb: str, words: Sequence[str]) -> Step:
    """The step for a line of words: the verb, a name, and what belongs to its companion."""
    name, *rest = words or [""]
    companion = VERBS[verb].companion
    if not name or (rest and not companion):
        raise BadStep(verb, "expected one name" if not companion else f"expected a name and {companion}")
    if not rest:
        return {verb: name}
    value: Any = rest
    if verb == "scale":
        value = int(rest[0]) if rest[0].isdigit() else rest[0]
    elif verb == "label":
        value = dict(map(_label_pair, rest))
    elif verb == "delete":
        value = rest[0]
    return {verb: name, companion: value}


def _label_pair(word: str) -> tuple[str, str | None]:
    key, equals, value = word.partition("=")
    return (key, value) if equals else (word.removesuffix("-"), None)
