"""The page shows queue and cache as they are when it is made."""

from __future__ import annotations

from tests.support.metered_scheduler import Watched

from bayplan.core.actions import Bind
from bayplan.core.events import ObjectAdded, ObjectChanged
from bayplan.core.preemption.safety import PreemptionSafety
from bayplan.testing.builders import node, pod

N = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()
OURS = "default-scheduler"


def test_pending_pods_are_counted_by_place() -> None:
    watched = Watched(N, pod("large").cpu("9").obj(), pod("shut").gate("g").obj())
    watched.run()
    watched.see(ObjectAdded(pod("new").obj()))
    assert watched.samples("scheduler_pending_pods") == {
        ("active",): 1,
        ("backoff",): 0,
        ("unschedulable",): 1,
        ("gated",): 1,
    }
    assert watched.samples("scheduler_unschedulable_pods") == {
        ("NodeResourcesFit", OURS): 1,
        ("SchedulingGates", OURS): 1,
    }
    assert watched.samples("scheduler_queue_incoming_pods_total") == {
        ("active", "UnscheduledPodAdd"): 2,
        ("unschedulable", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
    }


def test_an_older_version_has_its_own_labels_and_no_entities() -> None:
    gated = pod("p").gate("g")
    watched = Watched(N, gated.obj(), kubernetes_version="1.36")
    watched.see(ObjectChanged(gated.obj(), pod("p").obj()))
    assert watched.samples("scheduler_queue_incoming_pods_total") == {
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("active", "UnschedulablePodUpdatePodSchedulingGatesEliminated"): 1,
    }
    assert not watched.samples("scheduler_queued_entities")
    assert not watched.samples("scheduler_queue_incoming_entities_total")


def test_an_update_of_the_waiting_pod_itself_has_a_label_of_its_own() -> None:
    gated = pod("p").gate("g")
    watched = Watched(N, gated.obj())
    watched.see(ObjectChanged(gated.obj(), pod("p").obj()))
    assert watched.samples("scheduler_queue_incoming_entities_total") == {
        ("unschedulable", "UnscheduledPodAdd", "pod"): 1,
        ("active", "TargetPodUpdatePodSchedulingGatesEliminated", "pod"): 1,
    }
    assert watched.samples("scheduler_queued_entities")["active", "pod"] == 1


def test_a_binding_is_work_under_way_until_it_is_answered() -> None:
    watched = Watched(N, pod("p").cpu("1").obj(), pod("running").node("n").obj())
    decision = watched.decide()
    assert decision is not None
    (bind,) = decision.actions
    assert isinstance(bind, Bind)
    size = "scheduler_cache_size"
    assert watched.samples(size) == {("nodes",): 1, ("pods",): 2, ("assumed_pods",): 1}
    assert watched.samples("scheduler_goroutines")["binding",] == 1
    watched.wrote(bind)
    assert watched.samples(size) == {("nodes",): 1, ("pods",): 2, ("assumed_pods",): 0}
    assert watched.samples("scheduler_goroutines")["binding",] == 0


def test_nominated_pods_are_not_on_a_node() -> None:
    victim = pod("v").cpu("4").node("n").obj()
    watched = Watched(N, victim, pod("p").cpu("4").priority(10).obj())
    watched.run()
    assert watched.samples("scheduler_cache_size")["pods",] == 1


def test_events_are_kept_while_a_pod_is_tried() -> None:
    in_flight = "scheduler_inflight_events"
    running = pod("running").node("n")
    watched = Watched(N, running.obj(), pod("p").cpu("1").obj())
    watched.scheduler.queue.pop(watched.now)
    watched.see(ObjectChanged(running.obj(), running.labels(a="b").obj()))
    watched.see(ObjectAdded(pod("more").node("n").obj()))
    assert watched.samples(in_flight) == {
        ("PodPopped",): 1,
        ("AssignedPodUpdatePodLabel",): 1,
        ("AssignedPodAdd",): 1,
    }


def test_evictions_are_counted() -> None:
    victims = [pod(f"v{number}").cpu("2").node("n").obj() for number in range(2)]
    watched = Watched(N, *victims, pod("p").cpu("4").priority(10).obj())
    watched.run()
    assert watched.samples("bayplan_evictions_total") == {(): 2}
    assert watched.samples("bayplan_preemptors_withheld") == {(): 0}
    assert watched.samples("bayplan_preemption_loops_total") == {(): 0}


def test_preemptions_that_a_limit_withholds_are_counted_by_limit() -> None:
    victims = [pod(f"v{number}").cpu("2").node("n").obj() for number in range(2)]
    preemptors = [pod(f"p{number}").cpu("2").priority(10).obj() for number in range(2)]
    watched = Watched(N, *victims, *preemptors, safety=PreemptionSafety(evictions_per_minute=1))
    for _ in preemptors:
        watched.decide()
    assert watched.samples("bayplan_evictions_total") == {(): 1}
    assert watched.samples("bayplan_preemptions_withheld_total") == {("evictions-per-minute",): 1}
    assert watched.samples("bayplan_preemptors_withheld") == {(): 1}
