"""TermIndex: every term that matches is among the candidates, and hardly any other."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bayplan.core.columns.term_index import TermIndex
from bayplan.core.columns.terms import AffinityTerm, CarriedTerm, TermKind
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.model.selectors import CompiledSelector, compile_label_selector
from bayplan.testing.builders import selector

SELECTORS = ("app=x", "app in (x, y)", "app", "app!=x", "", "app=y, tier=db", None)


def carried(selecting: str | None, key: str = "zone") -> CarriedTerm:
    compiled = compile_label_selector(None if selecting is None else selector(selecting))
    term = AffinityTerm(key, frozenset(("default",)), CompiledSelector.NOTHING, compiled)
    return CarriedTerm(TermKind.REQUIRED, 0, term)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, {"app", "app!=x", ""}, id="no-labels"),
        pytest.param({"app": "x"}, {"app=x", "app in (x, y)", "app", "app!=x", ""}, id="one-label"),
        pytest.param(
            {"tier": "db", "app": "y"},
            {"app in (x, y)", "app", "app!=x", "", "app=y, tier=db"},
            id="several-requirements",
        ),
        pytest.param({"other": "x"}, {"app", "app!=x", ""}, id="another-key"),
    ],
)
def test_candidates(labels: Mapping[str, str], expected: set[str]) -> None:
    """Terms that want a label come with it, terms that want none come always, terms of nothing never."""
    terms: Vocabulary[CarriedTerm] = Vocabulary()
    for selecting in SELECTORS:
        terms.id(carried(selecting))
    found = list(TermIndex(terms).candidates(labels))
    assert sorted(SELECTORS[term_id] or "" for term_id in found) == sorted(expected)


def test_terms_named_later_are_found() -> None:
    """The index catches up with its vocabulary."""
    terms: Vocabulary[CarriedTerm] = Vocabulary()
    index = TermIndex(terms)
    assert list(index.candidates({"app": "x"})) == []
    first = terms.id(carried("app=x"))
    assert list(index.candidates({"app": "x"})) == [first]
    second = terms.id(carried("app=x", key="rack"))
    assert list(index.candidates({"app": "x"})) == [first, second]
