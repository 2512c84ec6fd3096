"""Metrics that upstream does not have."""

from __future__ import annotations

import pytest
from tests.support.metered_scheduler import Watched, samples

from bayplan.serving.metrics.own import own_family
from bayplan.serving.metrics.registry import Metrics
from bayplan.serving.metrics.tallies import Counts
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
    dropped = Counts(own_family("bayplan_dropped_total", "counter", "What was dropped.", ("reason",)))
    metrics.add(dropped)
    dropped.add(("overflow",), by=3)
    assert samples(metrics.render(), "bayplan_dropped_total") == {("overflow",): 3}
    with pytest.raises(ValueError, match="bayplan_dropped_total"):
        metrics.add(Counts(own_family("bayplan_dropped_total", "counter", "Again.")))


def test_a_name_of_others_is_refused() -> None:
    with pytest.raises(ValueError, match="scheduler_things_total"):
        own_family("scheduler_things_total", "counter", "Things.")
