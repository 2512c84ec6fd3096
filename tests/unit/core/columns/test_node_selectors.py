"""Node selectors as masks, and how long a mask is remembered."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.caches import cache_of

from bayplan.core.cache import Cache
from bayplan.core.columns import BoolArray
from bayplan.core.columns.masks import MASKS_MAX, MaskCache
from bayplan.core.columns.node_selectors import (
    ANYWHERE,
    RequiredNodes,
    compile_term,
    compile_terms,
    match_any,
    match_labels,
    match_required,
    match_some,
    required_nodes,
)
from bayplan.model.pod import NodeSelectorTerm
from bayplan.model.selectors import SelectorError
from bayplan.testing.builders import node, node_term, pod


def names(cache: Cache, mask: BoolArray) -> set[str]:
    return {name for name, row in cache.nodes.rows_by_name.items() if mask[row]}


def zones() -> Cache:
    return cache_of(node("a").labels(zone="z1").obj(), node("b").labels(zone="z2").obj(), node("c").obj())


def test_equal_terms_compile_to_equal_values() -> None:
    """Order and repetition do not tell terms apart, so equal selectors share one mask."""
    assert compile_term(node_term("x in (b, a), y")) == compile_term(node_term("y, x in (a, b, a)"))


def test_terms_that_do_not_parse_are_left_out() -> None:
    """They could never match."""
    terms = [node_term("x > y"), node_term("zone=z1")]
    assert compile_terms(terms) == (compile_term(terms[1]),)
    with pytest.raises(SelectorError, match=r"^\[3\]\.matchExpressions\[0\]"):
        compile_term(terms[0], "[3]")


def test_any_term_will_do() -> None:
    """Terms are alternatives; none at all and empty ones match nothing."""
    cache = zones()
    cases = {("zone=z1", "zone=z2"): {"a", "b"}, ("!zone",): {"c"}, (): set()}
    for texts, expected in cases.items():
        terms = compile_terms(node_term(text) for text in texts)
        assert names(cache, match_any(cache.nodes, terms)) == expected
    assert not match_any(cache.nodes, compile_terms([NodeSelectorTerm()])).any()


def test_fields_can_be_passed_over() -> None:
    """A term of fields alone then matches every node, as it does for a node without a name."""
    cache = zones()
    terms = compile_terms([node_term("metadata.name=a")])
    assert names(cache, match_any(cache.nodes, terms)) == {"a"}
    assert names(cache, match_some(cache.nodes, terms, use_fields=False)) == {"a", "b", "c"}


def test_labels_must_all_be_there() -> None:
    """A value nobody has matches nobody, and does not match nodes without the key."""
    cache = zones()
    assert names(cache, match_labels(cache.nodes, {"zone": "z2", "kubernetes.io/hostname": "b"})) == {"b"}
    assert names(cache, match_labels(cache.nodes, {"zone": "z3"})) == set()
    assert names(cache, match_labels(cache.nodes, {})) == {"a", "b", "c"}


def test_ghosts_never_match() -> None:
    """Not even selectors that are content with a missing label."""
    cache = zones()
    cache.add(pod("p").node("ghost").obj())
    cache.add(pod("q").node("c").obj())
    cache.remove_node("c")
    required = required_nodes(pod("p").node_affinity("zone notin (z1)").obj().spec)
    assert names(cache, match_required(cache.nodes, required)) == {"b"}
    assert names(cache, match_required(cache.nodes, ANYWHERE)) == {"a", "b"}


def test_what_a_pod_requires() -> None:
    """No affinity and an affinity without terms are different things."""
    assert required_nodes(pod("p").obj().spec) is ANYWHERE
    assert not ANYWHERE.restricts
    assert required_nodes(pod("p").node_affinity().obj().spec) == RequiredNodes((), ())
    assert required_nodes(pod("p").node_affinity("zone", weight=1).obj().spec) is ANYWHERE
    both = required_nodes(pod("p").node_selector(b="2", a="1").node_affinity("zone").obj().spec)
    assert both == RequiredNodes((("a", "1"), ("b", "2")), (compile_term(node_term("zone")),))
    assert both.restricts


def test_a_mask_is_shared_until_a_node_changes() -> None:
    """The same array for the same question, a new one once any node object changed; nobody may write to it."""
    cache = zones()
    required = required_nodes(pod("p").node_affinity("zone=z1").obj().spec)
    mask = match_required(cache.nodes, required)
    assert match_required(cache.nodes, required) is mask
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = False
    cache.add(node("c").labels(zone="z1").obj())
    assert names(cache, match_required(cache.nodes, required)) == {"a", "c"}


def test_a_ghost_lengthens_the_mask() -> None:
    """A row more is a longer mask, although no node changed."""
    cache = zones()
    required = required_nodes(pod("p").node_affinity("zone=z1").obj().spec)
    assert len(match_required(cache.nodes, required)) == 3
    cache.add(pod("p").node("ghost").obj())
    assert len(match_required(cache.nodes, required)) == 4


def test_the_cache_does_not_grow_without_end() -> None:
    """Too many questions at one instant make it start afresh, with right answers still."""
    masks = MaskCache()
    built: list[int] = []

    def ask(key: int) -> BoolArray:
        def build() -> BoolArray:
            built.append(key)
            return np.array([key % 2 == 0])

        return masks.get(key, (1, 1), build)

    for key in range(MASKS_MAX + 1):
        assert ask(key).tolist() == [key % 2 == 0]
    assert built == list(range(MASKS_MAX + 1))
    ask(MASKS_MAX)
    ask(0)
    assert built[MASKS_MAX + 1 :] == [0]
