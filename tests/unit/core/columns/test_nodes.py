"""The node table: what counts as a change."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.model.meta import Condition
from bayplan.testing.builders import node


def test_a_heartbeat_is_no_change() -> None:
    """Conditions and annotations are in no column, so nothing worked out before is out of date."""
    cache = cache_of(node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").obj())
    position = cache.nodes.spec_changes.position
    beating = node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").obj()
    beating.status.conditions = [Condition(type="Ready", status="True", last_transition_time="2026-01-01T00:00:00Z")]
    cache.add_node(beating)
    assert cache.nodes.spec_changes.position == position


def test_a_node_changed_in_place_is_noticed() -> None:
    """Whoever hands in the same object again may have written into it."""
    touched = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()
    cache = cache_of(touched)
    position = cache.nodes.spec_changes.position
    touched.metadata.labels["zone"] = "b"
    cache.add_node(touched)
    assert cache.nodes.spec_changes.position == position + 1


@pytest.mark.parametrize(
    "changed",
    [
        node("n").capacity(cpu="8", memory="8Gi", pods=10).zone("a"),
        node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("b"),
        node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").taint("k"),
        node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").unschedulable(),
        node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").image("x:1", size_bytes=1),
        node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").declares("F"),
    ],
    ids=["allocatable", "labels", "taints", "unschedulable", "images", "features"],
)
def test_what_a_column_holds_is_a_change(changed: object) -> None:
    """Each property that filters or scores read is noticed, also after the node went and came again."""
    original = node("n").capacity(cpu="4", memory="8Gi", pods=10).zone("a").obj()
    cache = cache_of(original)
    position = cache.nodes.spec_changes.position
    cache.add_node(changed.obj())  # type: ignore[attr-defined]
    assert cache.nodes.spec_changes.position == position + 1
    cache.remove_node("n")
    cache.add_node(original)
    assert cache.nodes.alive[cache.nodes.rows_by_name["n"]]
