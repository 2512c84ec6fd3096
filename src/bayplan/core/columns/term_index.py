"""Selectors, found by a label that a pod must have for them to match.

Most selectors ask for something like `app=x`: a pod without that label need not be tested. Those that only forbid
labels, or ask for a mere presence, are tested for every pod. Knows nothing of namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from bayplan.model.selectors import IN, CompiledSelector, LabelRequirement

Item = TypeVar("Item")


def telling_requirement(selectors: Iterable[CompiledSelector]) -> LabelRequirement | None:
    """One that asks for a label with certain values, where all selectors have to match."""
    return next((r for selector in selectors for r in selector.requirements if r.operator == IN), None)


class SelectorIndex(Generic[Item]):
    """Which of the things that have selectors may match a pod with given labels."""

    def __init__(self) -> None:
        # Dicts for their order: to take one out of a list of thousands takes long.
        self._by_label: dict[tuple[str, str], dict[Item, None]] = {}
        self._unconditional: dict[Item, None] = {}

    def add(self, item: Item, *selectors: CompiledSelector) -> None:
        """All of the selectors have to match."""
        if any(selector.selects_nothing for selector in selectors):
            return
        # One requirement is enough, and one only: a pod has at most one value for its key.
        wanted = telling_requirement(selectors)
        if wanted is None:
            self._unconditional[item] = None
            return
        for value in wanted.values:
            self._by_label.setdefault((wanted.key, value), {})[item] = None

    def remove(self, item: Item, *selectors: CompiledSelector) -> None:
        """Take out what was added with these selectors."""
        self._unconditional.pop(item, None)
        wanted = telling_requirement(selectors)
        if wanted is None:
            return
        for value in wanted.values:
            items = self._by_label.get((wanted.key, value), {})
            items.pop(item, None)
            if not items:
                self._by_label.pop((wanted.key, value), None)

    def candidates(self, labels: Iterable[tuple[str, str]]) -> Iterator[Item]:
        """What is worth testing, each once; all that matches is among it."""
        yield from self._unconditional
        for label in labels:
            yield from self._by_label.get(label, ())
