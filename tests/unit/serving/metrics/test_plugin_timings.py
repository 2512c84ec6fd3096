"""What is recorded of plugins and extension points. The clock goes on by a microsecond with each look at it."""

from __future__ import annotations

import pytest
from tests.support.metered_scheduler import SECOND, Watched

from bayplan.core.columns import loops
from bayplan.core.events import ObjectAdded, ObjectChanged
from bayplan.model.node import Node
from bayplan.serving.metrics.stopwatch import TIMED_PER_SECOND
from bayplan.testing.builders import node, pod

PLUGINS = "scheduler_plugin_execution_duration_seconds"
POINTS = "scheduler_framework_extension_point_duration_seconds"
EVALUATIONS = "scheduler_plugin_evaluation_total"
OURS = "default-scheduler"
HOSTNAME = "kubernetes.io/hostname"


def nodes(count: int) -> list[Node]:
    return [node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(count)]


def test_an_attempt_that_finds_a_node_goes_through_all_points_once() -> None:
    watched = Watched(*nodes(2), pod("p").cpu("1").obj())
    watched.run()
    points = (
        "PreEnqueue",
        "PreFilter",
        "Filter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    )
    assert watched.samples(f"{POINTS}_count") == {(point, "Success", OURS): 1 for point in points}


def test_an_attempt_that_finds_none_goes_through_post_filter() -> None:
    watched = Watched(*nodes(2), pod("p").cpu("9").obj())
    watched.run()
    counts = watched.samples(f"{POINTS}_count")
    assert counts == {
        ("PreEnqueue", "Success", OURS): 1,
        ("PreFilter", "Success", OURS): 1,
        ("Filter", "Success", OURS): 1,
        ("PostFilter", "Unschedulable", OURS): 1,
    }
    assert watched.samples(f"{PLUGINS}_count")["NodeResourcesFit", "Filter", "UnschedulableAndUnresolvable"] == 1


def test_without_nodes_no_extension_point_is_reached() -> None:
    watched = Watched(pod("p").obj())
    watched.run()
    assert watched.samples(f"{POINTS}_count") == {("PreEnqueue", "Success", OURS): 1}


def test_filters_that_preemption_runs_do_not_count_as_filter() -> None:
    # Whether the victim's leaving helps is worked out without filters for resources alone, not for anti-affinity.
    victim = pod("v").cpu("4").labels(app="a").node("n0").obj()
    preemptor = pod("p").cpu("4").priority(10).labels(app="a").pod_anti_affinity(HOSTNAME, {"app": "a"})
    watched = Watched(*nodes(1), victim, preemptor.obj())
    watched.run()
    filter_s = sum(s for (_, point, _), s in watched.samples(f"{PLUGINS}_sum").items() if point == "Filter")
    points = watched.samples(f"{POINTS}_sum")
    inside_preemption_s = filter_s - points["Filter", "Success", OURS]
    assert 1e-6 <= round(inside_preemption_s, 9) <= points["PostFilter", "Success", OURS]


def test_a_plugin_that_skips_is_timed_and_not_counted_as_asked() -> None:
    watched = Watched(*nodes(2), pod("p").cpu("1").obj())
    watched.run()
    assert watched.samples(f"{PLUGINS}_count")["NodePorts", "PreFilter", "Skip"] == 1
    assert ("NodePorts", "PreFilter", OURS) not in watched.samples(EVALUATIONS)
    assert watched.samples(EVALUATIONS)["NodeResourcesFit", "PreFilter", OURS] == 1


def test_a_reused_result_costs_a_plugin_one_look_at_the_changed_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pod of a kind finds nothing yet: only then does it look as if more would come."""
    monkeypatch.setattr(loops, "compiled", None)
    watched = Watched(*nodes(3), *(pod(name).cpu("1").obj() for name in "abc"))
    watched.run()
    asked = watched.samples(EVALUATIONS)
    assert asked["NodeResourcesFit", "Filter", OURS] == 3
    assert asked["TaintToleration", "Filter", OURS] == 1, "nothing that it reads has changed"
    assert watched.samples("scheduler_batch_attempts_total") == {(OURS, "no_hint"): 2, (OURS, "hint_used"): 1}
    assert watched.samples("scheduler_store_schedule_results_duration_seconds_count") == {(OURS,): 2}
    assert watched.samples("scheduler_get_node_hint_duration_seconds_count") == {
        ("no_hint", OURS): 2,
        ("hint_used", OURS): 1,
    }


@pytest.mark.skipif(loops.compiled is None, reason="the loops are not compiled")
def test_what_compiled_loops_do_is_no_call_of_a_plugin() -> None:
    watched = Watched(*nodes(3), *(pod(name).cpu("1").obj() for name in "abc"))
    watched.run()
    assert ("NodeResourcesFit", "Filter", OURS) not in watched.samples(EVALUATIONS)
    assert watched.samples(f"{POINTS}_count")["Filter", "Success", OURS] == 3


def test_results_that_are_out_of_date_are_named() -> None:
    watched = Watched(*nodes(2), pod("a").cpu("1").obj())
    watched.run()
    for obj in (node("more").capacity(cpu="4", memory="8Gi", pods=10).obj(), pod("b").cpu("1").obj()):
        watched.see(ObjectAdded(obj))
    watched.run()
    assert watched.samples("scheduler_batch_cache_flushed_total") == {(OURS, "expired"): 2}


def test_hints_are_timed_by_what_they_say() -> None:
    watched = Watched(*nodes(1), pod("p").cpu("9").obj())
    watched.run()
    watched.see(ObjectAdded(node("small").capacity(cpu="1", memory="8Gi", pods=10).obj()))
    watched.see(ObjectAdded(node("large").capacity(cpu="16", memory="8Gi", pods=10).obj()))
    hints = watched.samples("scheduler_queueing_hint_execution_duration_seconds_count")
    assert hints == {("NodeResourcesFit", "NodeAdd", "QueueSkip"): 1, ("NodeResourcesFit", "NodeAdd", "Queue"): 1}


def test_the_handling_of_events_is_timed_by_what_happened() -> None:
    waiting = pod("p").cpu("1")
    watched = Watched(*nodes(1), waiting.obj())
    watched.see(ObjectChanged(waiting.obj(), waiting.labels(a="b").obj()))
    handled = watched.samples("scheduler_event_handling_duration_seconds_count")
    labels = ("NodeAdd", "UnscheduledPodAdd", "UnscheduledPodUpdate", "UnscheduledPodUpdatePodLabel")
    assert handled == {(label,): 1 for label in labels}


def test_of_very_many_attempts_some_are_timed() -> None:
    watched = Watched(*nodes(1), *(pod(f"p{number}").cpu("9").obj() for number in range(TIMED_PER_SECOND + 50)))
    while watched.decide() is not None:
        pass
    timed = ("Filter", "Success", OURS)
    assert watched.samples(f"{POINTS}_count")[timed] == TIMED_PER_SECOND
    assert watched.samples("scheduler_schedule_attempts_total") == {("unschedulable", OURS): TIMED_PER_SECOND + 50}
    watched.now += SECOND
    watched.see(ObjectAdded(pod("late").cpu("9").obj()))
    watched.run()
    assert watched.samples(f"{POINTS}_count")[timed] == TIMED_PER_SECOND + 1
