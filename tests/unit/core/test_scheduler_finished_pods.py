"""A pod that is over: everything about it is taken in at its end, and its removal is no news."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.decision import Outcome
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod

NOW = 1_700_000_000 * SECOND


def scheduler_with_node() -> Scheduler:
    safety = with_settings(UPSTREAM, {"preemption_loop_rounds": 2})
    scheduler: Scheduler = build_scheduler(
        load_configuration(None, safety=safety, release=DEFAULT_RELEASE), started_at=NOW
    )
    scheduler.observe(ObjectAdded(node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()), NOW)
    return scheduler


def over(before: Pod, phase: str) -> Pod:
    return replace(before, status=replace(before.status, phase=phase))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("where", ["", "n"], ids=["waiting", "running"])
def test_at_its_end_a_pod_leaves_whatever_place_it_had(where: str, phase: str) -> None:
    scheduler = scheduler_with_node()
    before = pod("job").cpu("3").node(where).obj()
    finished = over(before, phase)
    scheduler.observe(ObjectAdded(before), NOW)
    scheduler.observe(ObjectChanged(before, finished), NOW)
    assert not scheduler.cache.pods.rows_by_key
    assert not scheduler.cache.nodes.taken.any()
    assert not list(scheduler.queue.queued_pods())
    scheduler.observe(ObjectRemoved(finished), NOW)
    assert not scheduler.cache.nodes.taken.any()
    scheduler.observe(ObjectAdded(pod("job").cpu("3").obj()), NOW)
    decision = scheduler.decide(NOW)
    assert decision is not None
    assert (decision.outcome, decision.node) == (Outcome.ASSUMED, "n")


def test_a_pod_that_was_over_when_it_was_first_seen_takes_no_room() -> None:
    scheduler = scheduler_with_node()
    finished = over(pod("job").cpu("3").node("n").obj(), "Succeeded")
    scheduler.observe(ObjectAdded(finished), NOW)
    scheduler.observe(ObjectRemoved(finished), NOW)
    assert not scheduler.cache.pods.rows_by_key
    assert not scheduler.cache.nodes.taken.any()


def test_a_pod_that_ends_and_one_of_its_name_that_comes_at_once() -> None:
    """A watch that broke shows the one turned into the other."""
    scheduler = scheduler_with_node()
    finished = over(pod("job").cpu("3").node("n").obj(), "Succeeded")
    finished.metadata.uid = "first"
    scheduler.observe(ObjectAdded(finished), NOW)
    later = pod("job").cpu("2").node("n").obj()
    later.metadata.uid = "second"
    scheduler.observe(ObjectChanged(finished, later), NOW)
    assert scheduler.cache.nodes.requested[0, 0] == 2000
