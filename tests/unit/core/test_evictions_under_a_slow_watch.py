"""Preemptors of one node, before the watch has shown that they are nominated."""

from __future__ import annotations

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Evict
from bayplan.core.events import EvictAnswered, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler
from bayplan.model.time_units import MICROSECOND, SECOND
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

NOW = 1_700_000_000 * SECOND
BYSTANDER = pod("bystander").node("n1").obj()


def victim(name: str) -> PodBuilder:
    return pod(name).cpu("1").node("n1")


def leaving(name: str) -> PodBuilder:
    return victim(name).terminating().condition("DisruptionTarget", reason="PreemptionByScheduler")


def two_preemptors() -> Scheduler:
    """Both have evicted a pod of n1, which is leaving; no watch event has shown their nominations."""
    scheduler = build_scheduler(load_configuration(None, release=DEFAULT_RELEASE), started_at=NOW)
    scheduler.observe(ObjectAdded(node("n1").capacity(cpu="2", pods=9).obj()), NOW)
    for running in (victim("v1").obj(), victim("v2").obj(), BYSTANDER):
        scheduler.observe(ObjectAdded(running), NOW)
    for name in ("a", "b"):
        scheduler.observe(ObjectAdded(pod(name).cpu("1").priority(10).obj()), NOW)
        decision = scheduler.decide(NOW)
        assert decision is not None
        assert decision.outcome == "nominated"
        (eviction,) = (action for action in decision.actions if isinstance(action, Evict))
        evicted = eviction.pod.partition("/")[2]
        scheduler.observe(ObjectChanged(victim(evicted).obj(), leaving(evicted).obj()), NOW)
        scheduler.observe(EvictAnswered(eviction.pod, eviction.uid), NOW)
    return scheduler


def tried(scheduler: Scheduler, at: int) -> list[str]:
    """Who is tried from then on, one decision every 100 microseconds; twenty would be endless."""
    pods: list[str] = []
    while len(pods) < 20 and (decision := scheduler.decide(at)) is not None:
        pods.append(f"{decision.pod} {decision.outcome}")
        at += 100 * MICROSECOND
    return pods


def test_each_keeps_its_node_and_none_wakes_the_other() -> None:
    scheduler = two_preemptors()
    scheduler.observe(ObjectRemoved(BYSTANDER), NOW + SECOND)
    assert tried(scheduler, NOW + SECOND) == ["default/a unschedulable", "default/b unschedulable"]
    assert [info.name for info in scheduler.queue.nominations.on("n1")] == ["a", "b"]
    assert {queued.state for queued in scheduler.queue.queued_pods()} == {PodState.UNSCHEDULABLE}


def test_when_the_victims_are_gone_both_take_their_places() -> None:
    scheduler = two_preemptors()
    for name in ("v1", "v2"):
        scheduler.observe(ObjectRemoved(leaving(name).obj()), NOW + SECOND)
    assert tried(scheduler, NOW + SECOND) == ["default/a assumed", "default/b assumed"]
