"""Metrics that upstream does not have."""

from __future__ import annotations

import pytest
from tests.metering import Watched, samples

from bayplan.serving.metrics.registry import Metrics
from bayplan.testing.builders import node, pod


def test_writes_are_timed_by_kind_and_outcome() -> None:
    watched = Watched(node("n").capacity(cpu="4", memory="8Gi", pods=10).obj(), pod("p").cpu("1").obj())
    decision = watched.decide()
    assert decision is not None
    watched.wrote(decision.actions[0], error="conflict")
    watched.run()
    assert watched.samples("bayplan_write_duration_seconds_sum") == {
        ("Bind", "failed"): 0.005,
        ("Emit", "done"): 0.005,
        ("SetCondition", "done"): 0.005,
    }
    assert watched.samples("bayplan_decision_duration_seconds_count") == {("assumed",): 1}


def test_others_add_their_own() -> None:
    metrics = Metrics()
    dropped = metrics.own_counter("bayplan_events_dropped_total", "Events that were not written.", ("reason",))
    dropped.add(("overflow",), by=3)
    metrics.own_gauge("bayplan_guard", "State of the guard.", (), lambda: {(): 1})
    page = metrics.render()
    assert samples(page, "bayplan_events_dropped_total") == {("overflow",): 3}
    assert samples(page, "bayplan_guard") == {(): 1}


@pytest.mark.parametrize("name", ["scheduler_things_total", "bayplan_twice_total"])
def test_a_name_of_others_or_one_that_is_taken_is_refused(name: str) -> None:
    metrics = Metrics()
    metrics.own_counter("bayplan_twice_total", "First.")
    with pytest.raises(ValueError, match=name):
        metrics.own_counter(name, "Second.")
