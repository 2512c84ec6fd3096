"""Chains and loops of preemptions are found; many victims at once are neither."""

from __future__ import annotations

from tests.unit.analysis.simulation.worlds import HOSTNAME, after, cluster, nodes, objects, pattern, workload

from bayplan.analysis.simulation.inputs.commands import Apply
from bayplan.analysis.simulation.results.cascades import LOOP_TIMES
from bayplan.analysis.simulation.running import simulate
from bayplan.testing import builders as make

#: A nominated pod's own anti-affinity keeps nobody away, so the evicted pod is back before the other gets there.
URGENT = pattern("urgent", "1", "high").pod_anti_affinity(HOSTNAME, {"app": "low"})


def test_preempting_and_recreating_without_end_is_a_loop_and_ends_the_run() -> None:
    there = cluster(*nodes(1), workload("low", 1, "1", "low"))
    result = simulate(there, [after(1, Apply(objects(URGENT)))], until=3600)
    (loop,) = result.run.loops
    assert (loop.preemptor, loop.victim) == ("default/urgent", "Deployment default/low")
    assert loop.times >= LOOP_TIMES
    assert loop.pods[0] == "default/urgent"
    assert loop.priorities[:2] == [1000, 10]
    assert result.run.partial
    assert any("endless loop" in note.message for note in result.run.notes)
    assert result.run.chains[0].depth > LOOP_TIMES


def test_a_gang_that_evicts_what_is_recreated_is_a_loop() -> None:
    """As above, with two members; it is the group that evicts, whichever of its pods stands for it."""
    there = cluster(*nodes(2), workload("low", 2, "1", "low"))
    members = [
        pattern(f"urgent-{number}", "1", "high").pod_anti_affinity(HOSTNAME, {"app": "low"}).in_group("gang")
        for number in range(2)
    ]
    (group,) = objects(make.pod_group("gang").gang(2))
    group.spec.priority, group.spec.priority_class_name = None, "high"
    gates = "GenericWorkload=true"
    result = simulate(there, [after(1, Apply((group, *objects(*members))))], until=3600, feature_gates=gates)
    (loop,) = result.run.loops
    assert (loop.preemptor, loop.victim) == ("PodGroup default/gang", "Deployment default/low")
    assert loop.times >= 2 * LOOP_TIMES  # both pods, each time
    assert set(result.summary.evictions_by_preemptor) == {"PodGroup default/gang"}


def test_many_replicas_making_room_once_each_are_no_loop() -> None:
    there = cluster(*nodes(8), workload("low", 8, "4", "low"))
    result = simulate(there, [after(1, Apply(objects(workload("high", 8, "4", "high"))))], until=1800)
    assert result.summary.evictions == {"preemption": 8}
    assert (result.run.loops, result.run.chains) == ([], [])


def test_a_victim_that_comes_back_and_pushes_another_is_a_chain() -> None:
    middle = make.priority_class("middle", value=100)
    there = cluster(middle, *nodes(2), workload("mid", 1, "4", "middle"), workload("low", 1, "4", "low"))
    # Both stand; the urgent pod may only go where the middle one is, which then pushes the low one.
    before = simulate(there, until=60).run.pods
    where = next(pod.node for pod in before if pod.key.startswith("default/mid"))
    assert where
    urgent = pattern("urgent", "4", "high").node_selector({HOSTNAME: where})
    result = simulate(there, [after(1, Apply(objects(urgent)))], until=1800)
    (chain,) = result.run.chains
    assert chain.depth == 2
    assert [key.split("-")[0] for key in chain.pods] == [
        "default/urgent",
        "default/mid",
        "default/mid",
        "default/low",
    ]
    assert chain.downtime > 1000  # the low one waits until the end
