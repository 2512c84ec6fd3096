"""NodeName over all nodes against one node at a time, on a table whose rows were used before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, verdicts

from bayplan.core.plugins.node_name import NodeName
from bayplan.testing.builders import node, pod

NAMES = st.sampled_from(["a", "b", "c", "d"])


@given(st.sets(NAMES), st.sets(NAMES), st.sets(NAMES), st.sampled_from(["", "a", "b", "c", "elsewhere"]))
def test_agrees_with_the_oracle(gone: set[str], ghosts: set[str], present: set[str], named: str) -> None:
    """Rows are found by name, whoever had them before."""
    cache = cache_of(*(node(name).obj() for name in sorted(gone)))
    for name in sorted(ghosts):
        cache.add(pod(f"on-{name}").node(name).obj())
    for name in sorted(gone):
        cache.remove_node(name)
    for name in sorted(present):
        cache.add(node(name).obj())
    outcome = verdicts(NodeName(), cache, pod("p").node(named).obj())
    assert {name: status.ok for name, status in outcome.items()} == {name: named in ("", name) for name in present}
