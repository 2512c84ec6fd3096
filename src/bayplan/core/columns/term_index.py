"""Carried affinity terms, found by a label that a pod must have for them to match.

Most terms ask for something like `app=x`: a pod without that label need not be tested. Terms that only forbid labels,
or ask for a mere presence, are tested for every pod. The index reads the vocabulary of terms when asked, so that
pods that come and go cost nothing here. It knows nothing of namespaces, nor of whether a term is still carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.core.columns.terms import CarriedTerm
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.model.selectors import IN


class TermIndex:
    """Which terms may match a pod with given labels."""

    def __init__(self, terms: Vocabulary[CarriedTerm]) -> None:
        self._terms = terms
        self._indexed_count = 0
        self._by_label: dict[tuple[str, str], list[int]] = {}
        self._unconditional: list[int] = []

    def candidates(self, labels: Mapping[str, str]) -> Iterator[int]:
        """Ids of the terms worth testing, each once; every term that matches is among them."""
        self._catch_up()
        yield from self._unconditional
        for label in labels.items():
            yield from self._by_label.get(label, ())

    def _catch_up(self) -> None:
        values = self._terms.values
        for term_id in range(self._indexed_count, len(values)):
            self._index(term_id, values[term_id])
        self._indexed_count = len(values)

    def _index(self, term_id: int, carried: CarriedTerm) -> None:
        selector = carried.term.selector
        if selector.selects_nothing:
            return
        # One requirement is enough, and one only: a pod has at most one value for its key.
        wanted = next((r for r in selector.requirements if r.operator == IN), None)
        if wanted is None:
            self._unconditional.append(term_id)
            return
        for value in wanted.values:
            self._by_label.setdefault((wanted.key, value), []).append(term_id)
