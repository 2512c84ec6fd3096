"""Selectors, found by a label that a pod must have for them to match.

Most selectors ask for something like `app=x`: a pod without that label need not be tested. Those that only forbid
labels, or ask for a mere presence, are tested for every pod. Knows nothing of namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from bayplan.core.columns.terms import CarriedTerm
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.model.selectors import IN, CompiledSelector, LabelRequirement

Item = TypeVar("Item")


def telling_requirement(selectors: Iterable[CompiledSelector]) -> LabelRequirement | None:
    """One that asks for a label with certain values, where all selectors have to match."""
    return next((r for selector in selectors for r in selector.requirements if r.operator == IN), None)


class SelectorIndex(Generic[Item]):
    """Which of the things that have selectors may match a pod with given labels."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], list[Item]] = {}
        self._unconditional: list[Item] = []

    def add(self, item: Item, *selectors: CompiledSelector) -> None:
        """All of the selectors have to match."""
        if any(selector.selects_nothing for selector in selectors):
            return
        # One requirement is enough, and one only: a pod has at most one value for its key.
        wanted = telling_requirement(selectors)
        if wanted is None:
            self._unconditional.append(item)
            return
        for value in wanted.values:
            self._by_label.setdefault((wanted.key, value), []).append(item)

    def candidates(self, labels: Iterable[tuple[str, str]]) -> Iterator[Item]:
        """What is worth testing, each once; all that matches is among it."""
        yield from self._unconditional
        for label in labels:
            yield from self._by_label.get(label, ())


class TermIndex:
    """Which carried terms may match. Reads the vocabulary when asked, so that pods that come and go cost nothing."""

    def __init__(self, terms: Vocabulary[CarriedTerm]) -> None:
        self._terms = terms
        self._indexed_count = 0
        self._index: SelectorIndex[int] = SelectorIndex()

    def candidates(self, labels: Mapping[str, str]) -> Iterator[int]:
        """Ids of the terms worth testing, each once, carried or not; every term that matches is among them."""
        values = self._terms.values
        for term_id in range(self._indexed_count, len(values)):
            self._index.add(term_id, values[term_id].term.selector)
        self._indexed_count = len(values)
        return self._index.candidates(labels.items())
