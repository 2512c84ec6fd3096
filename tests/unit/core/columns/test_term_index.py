"""SelectorIndex: everything that matches is among the candidates, and hardly anything else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bayplan.core.columns.term_index import SelectorIndex
from bayplan.model.selectors import CompiledSelector, compile_label_selector
from bayplan.testing.builders import selector

SELECTORS = ("app=x", "app in (x, y)", "app", "app!=x", "", "app=y, tier=db", None)


def compiled(selecting: str | None) -> CompiledSelector:
    return compile_label_selector(None if selecting is None else selector(selecting))


def index_of(*selectors: str | None) -> SelectorIndex[str]:
    index: SelectorIndex[str] = SelectorIndex()
    for selecting in selectors:
        index.add(str(selecting), compiled(selecting))
    return index


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
    """Selectors that want a label come with it, those that want none come always, those of nothing never."""
    assert sorted(index_of(*SELECTORS).candidates(labels.items())) == sorted(expected)


@pytest.mark.parametrize("removed", SELECTORS)
def test_what_is_removed_is_no_candidate(removed: str | None) -> None:
    index = index_of(*SELECTORS)
    index.remove(str(removed), compiled(removed))
    left = index_of(*(selecting for selecting in SELECTORS if selecting != removed))
    for labels in ({}, {"app": "x"}, {"app": "y", "tier": "db"}):
        assert list(index.candidates(labels.items())) == list(left.candidates(labels.items()))


def test_an_empty_index_holds_nothing() -> None:
    index = index_of(*SELECTORS)
    for selecting in SELECTORS:
        index.remove(str(selecting), compiled(selecting))
    assert not index._by_label
    assert not index._unconditional
