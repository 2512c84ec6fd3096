"""A cluster through time: placements, preemptions with their records, failing nodes, drains, and the same twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.unit.analysis.simulation.worlds import (
    CLASSES,
    HOSTNAME,
    after,
    cluster,
    ends,
    nodes,
    objects,
    pattern,
    workload,
)

import bayplan
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Cordon,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    ScaleWorkload,
)
from bayplan.analysis.simulation.results.run_format import End, EvictionCause, PodFigures
from bayplan.analysis.simulation.running import simulate
from bayplan.model.workloads import ReplicaSet
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

HIGH = Apply(objects(workload("high", 1, "4", "high")))


def test_pods_are_placed_and_counted() -> None:
    result = simulate(cluster(*nodes(2), workload("web", 3, "2", "low")), until=600)
    assert result.summary.pods == PodFigures(
        created=3, placed=3, finished=0, failed=0, deleted=0, preempted=0, pending=0
    )
    assert result.summary.waiting["low"].count == 3
    assert result.summary.utilization["cpu"] == pytest.approx(0.75, abs=0.01)
    assert {pod.owner for pod in result.run.pods} == {"Deployment default/web"}
    assert not np.isnan(result.pods["bound"]).any()
    assert np.isnan(result.pods["ended"]).all()


def test_shares_of_more_than_any_quantity() -> None:
    """The sum over all nodes is beyond an int64."""
    huge = [make.node(f"n{number}").capacity(memory="7Ei").manifest().obj() for number in range(3)]
    pods = [make.pod(f"p{number}").memory("6Ei").manifest().obj() for number in range(3)]
    result = simulate(Cluster([*huge, *pods]), until=600)
    assert result.summary.utilization["memory"] == pytest.approx(6 / 7, abs=0.01)
    assert set(result.run.series.fragmentation) == {0.0}


@pytest.mark.parametrize("year", ["0001", "2200", "9999"])
def test_a_run_may_take_place_in_any_year(year: str) -> None:
    """It begins at the newest time of the cluster."""
    now = f"{year}-12-31T23:59:59Z"
    dump = Cluster([made.created(now).obj() for made in (make.node("n"), make.pod("p"))])
    result = simulate(dump, until=600)
    assert [pod.node for pod in result.run.pods] == ["n"]


def test_a_pod_with_a_run_time_finishes() -> None:
    job = make.pod("once").cpu("1").annotations({"bayplan/run-seconds": "60"})
    result = simulate(cluster(*nodes(1), job), until=600)
    (pod,) = result.run.pods
    assert pod.end is End.FINISHED
    assert pod.ended is not None
    assert pod.started is not None
    assert pod.ended - pod.started == pytest.approx(60)


def test_a_preemption_has_its_victims_budgets_and_record() -> None:
    there = cluster(*nodes(2), workload("low", 4, "2", "low"), make.budget("pdb").selects(app="low").min_available(4))
    result = simulate(there, [after(2, HIGH)], until=600)
    (made,) = result.run.preemptions
    assert (made.priority, made.t > 120, len(made.victims)) == (1000, True, 2)
    assert [victim.breaks for victim in made.victims] == [["default/pdb"], ["default/pdb"]]
    assert made.decided
    assert made.record is not None
    assert {candidate.node for candidate in made.record.candidates} == {"n1", "n2"}
    assert result.summary.budgets_broken == 2
    assert result.summary.evictions == {"preemption": 2}
    assert result.summary.evictions_by_preemptor == {"Deployment default/high": 2}
    assert sorted(ends(result, "low")) == ["pending", "pending", "preempted", "preempted", "running", "running"]
    assert [pod.class_name for pod in result.run.pods if pod.evicted is EvictionCause.PREEMPTION] == ["low", "low"]


def test_without_records_budgets_are_known_all_the_same() -> None:
    there = cluster(*nodes(2), workload("low", 4, "2", "low"), make.budget("pdb").selects(app="low").min_available(4))
    with_records = simulate(there, [after(2, HIGH)], until=600).run.preemptions
    without = simulate(there, [after(2, HIGH)], until=600, records=0).run.preemptions
    assert [made.record for made in without] == [None]
    assert [made.victims for made in without] == [made.victims for made in with_records]


def test_a_failed_node_loses_its_pods_and_comes_back() -> None:
    there = cluster(*nodes(2), workload("web", 2, "4", "low"))
    result = simulate(there, [after(1, NodesFail(("n1",))), after(20, NodesRecover(("n1",)))], until=3600)
    assert result.summary.evictions == {"node": 1}
    assert result.summary.pods.pending == 0
    last = result.run.pods[-1]
    assert last.node == "n1"  # it waited for the node to come back
    assert last.bound is not None
    assert last.bound > 20 * 60


def test_a_drain_waits_for_the_budget() -> None:
    web = workload("web", 3, "1", "low")
    there = cluster(*nodes(1), web, make.budget("pdb").selects(app="web").min_available(2))
    plans = [after(1, Drain(("n1",))), after(10, Apply(objects(make.node("n9").capacity(cpu="4", pods=20))))]
    stuck = simulate(there, plans[:1], until=540)
    assert stuck.summary.evictions == {"drain": 1}
    result = simulate(there, plans, until=3600)
    assert result.summary.evictions == {"drain": 3}
    assert [pod.node for pod in result.run.pods if pod.end is End.RUNNING] == ["n9", "n9", "n9"]


def running_web() -> list[Any]:
    """One pod on each of three nodes."""
    owner: Any = make.replica_set("web").replicas(3).template(pattern("web", "1", "low"))
    pods = [pattern(f"web-{at}", "1", "low").labels(app="web").running(f"n{at}").owner(owner) for at in (1, 2, 3)]
    return [each.obj() for each in (owner, *(pod.priority(10, class_name="low") for pod in pods))]


def budgets(count: int) -> list[Any]:
    return [make.budget(f"pdb{number}").selects(app="web").max_unavailable(1) for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_drain_evicts_what_the_answer_to_a_drain_says(count: int) -> None:
    """Of a pod with two budgets the eviction API knows no way, which the run says once."""
    there = cluster(*nodes(3), workload("web", 3, "1", "low"), *budgets(count))
    result = simulate(there, [after(5, Drain(("n1",)))], until=900)
    settled = Cluster([each.obj() for each in (*nodes(3), *budgets(count))] + running_web())
    answer = settled.drain(["n1"])
    drained = [pod.key for pod in result.run.pods if pod.evicted is EvictionCause.DRAIN]
    assert len(drained) == len(answer.nodes[0].evictions) == (1 if count < 2 else 0)
    assert [note.message.partition(" stays: ")[2] for note in result.run.notes] == [
        blocked.message for blocked in answer.nodes[0].blocked
    ]


def test_scaling_cordoning_and_deleting() -> None:
    web = Reference("Deployment", "default", "web")
    plans = [after(1, Cordon(("n1",))), after(2, ScaleWorkload((web,), 4)), after(3, Cordon(("n1",), False))]
    there = cluster(*nodes(1), workload("web", 2, "1", "low"))
    result = simulate(there, plans, until=600)
    assert [at > 3 * 60 for at in sorted(result.pods["bound"])] == [False, False, True, True]
    gone = simulate(there, [*plans, after(5, DeleteObject((web,)))], until=600)
    assert ends(gone, "web") == [End.DELETED] * 4


def test_what_cannot_be_done_is_noted_and_the_run_goes_on() -> None:
    plans = [after(1, DeleteObject((Reference("Job", "default", "none"),))), after(2, HIGH)]
    result = simulate(cluster(*nodes(1)), plans, until=600)
    assert [(note.source, "none" in note.message) for note in result.run.notes] == [("test", True)]
    assert result.summary.pods.placed == 1


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_cluster_alone() -> None:
    there = cluster(*nodes(3), workload("low", 6, "2", "low"))
    first, second, other = (
        msgspec.json.encode(simulate(there, [after(2, HIGH)], seed=seed, until=900).to_dict()) for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_the_report_is_written(tmp_path: Path) -> None:
    result = simulate(cluster(*nodes(1), pattern("seen", "1", "low")), until=60)
    bayplan.write_report(result, tmp_path / "report.html")
    assert "default/seen" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_timelines_and_traces_may_be_files(tmp_path: Path) -> None:
    """The trace brings its own class; the timeline lets its pod in only after a minute."""
    (tmp_path / "story.yaml").write_text("- {at: 1m, uncordon: n1}\n- {at: 2m, delete: trace/a}\n", encoding="utf-8")
    (tmp_path / "pods.csv").write_text("arrival,cpu,priority,class,name\n30,1,7,own,a\n", encoding="utf-8")
    closed = cluster(*(node.unschedulable() for node in nodes(1)))
    result = simulate(closed, tmp_path / "story.yaml", trace=f"csv:{tmp_path / 'pods.csv'}", until="5m")
    assert list(result.pods["class"]) == ["own"]
    assert result.pods["created"] == [30]
    assert 60 <= result.pods["bound"][0] < 90
    assert list(result.pods["end"]) == ["deleted"]
    assert result.run.seconds == 300


@pytest.mark.parametrize("until", [0, -1.5, "0s", "later"])
def test_a_run_takes_some_time(until: float | str) -> None:
    with pytest.raises(ValueError, match=r"until must be greater than 0|invalid duration"):
        simulate(cluster(*nodes(1)), until=until)


def test_it_is_exported() -> None:
    assert bayplan.simulate is simulate


def test_a_budget_of_evictions_spreads_them() -> None:
    there = cluster(
        *(make.node(f"n{number}").capacity(cpu="4") for number in (1, 2)),
        *(make.pod(f"low-{number}").cpu("4").running(f"n{number}") for number in (1, 2)),
        *(make.pod(f"high-{number}").manifest().cpu("4").priority_class("high") for number in (1, 2)),
    )
    at = {}
    for limit in (0, 1):
        result = simulate(there, until=300, safety={"evictions_per_minute": limit})
        at[limit] = [preemption.t for preemption in result.run.preemptions]
    assert at[0][1] - at[0][0] < 1
    assert at[1][1] - at[1][0] == pytest.approx(60, abs=1)


def test_a_pod_that_upstream_forgets_is_placed_when_nothing_is_slept_through() -> None:
    """A pod kept away from everywhere by another one's terms fits on a node that comes later."""
    there = cluster(
        make.node("old").label("zone", "a"),
        make.pod("hermit").pod_anti_affinity("zone", {"app": "guest"}).running("old"),
        make.pod("guest").labels(app="guest"),
    )
    comes = [after(1, Apply(objects(make.node("new").label("zone", "b"))))]
    bound = {}
    for wakeups in ("upstream", "complete"):
        result = simulate(there, comes, until=600, wakeups=wakeups)
        assert result.run.wakeups == wakeups
        bound[wakeups] = next(pod.bound for pod in result.run.pods if pod.key == "default/guest")
    assert bound["complete"] == pytest.approx(60, abs=1)
    assert bound["upstream"] is not None
    assert bound["upstream"] > 300, "five minutes after the last attempt"
    with pytest.raises(ValueError, match="wakeups must be"):
        simulate(there, until=1, wakeups="some")


URGENT = Apply(objects(pattern("urgent", "4", "high")))


def lowest() -> PodBuilder:
    return make.pod("lowest").cpu("2").node_selector({HOSTNAME: "n2"})


def as_manifests() -> list[Any]:
    return [each.manifest().obj() for each in (lowest(), workload("mid", 1, "2", "low"))]


def as_dump() -> list[Any]:
    """As kubectl writes it: pods before their ReplicaSets."""
    mid = workload("mid", 1, "2", "low")
    hashed = {"app": "mid", "pod-template-hash": "abc"}
    made = make.replica_set("mid-abc").labels(hashed).replicas(1).selects(app="mid").owner(mid)
    made.template(pattern("t", "2", "low").labels(hashed))
    pod = pattern("mid-abc-x", "2", "low").labels(hashed).priority(10, class_name="low").running("n1").owner(made)
    return [each.obj() for each in (lowest().running("n2"), pod, made, mid)]


@pytest.mark.parametrize("mid", [as_manifests, as_dump])
def test_chains_and_owners_are_the_same_wherever_pods_come_from(mid: Callable[[], list[Any]]) -> None:
    """`urgent` evicts mid's pod, whose successor evicts `lowest`."""
    small = make.node("n2").capacity(cpu="2", memory="8Gi", pods=20).label(HOSTNAME, "n2")
    there = Cluster([*(each.manifest().obj() for each in (*CLASSES, *nodes(1), small)), *mid()])
    result = simulate(there, [after(1, URGENT)], until=600)
    (chain,) = result.run.chains
    assert (chain.depth, chain.victims) == (2, 2)
    assert {pod.owner for pod in result.run.pods if pod.key.startswith("default/mid")} == {"Deployment default/mid"}


def test_the_deployment_of_a_pod_is_known_without_its_replica_set() -> None:
    """By its name, as dumps often have no ReplicaSets."""
    partial = [obj for obj in as_dump() if not isinstance(obj, ReplicaSet)]
    there = Cluster([*(each.manifest().obj() for each in (*CLASSES, *nodes(2))), *partial])
    result = simulate(there, until=60)
    assert {pod.owner for pod in result.run.pods if pod.key.startswith("default/mid")} == {"Deployment default/mid"}


def test_pods_that_had_a_node_at_the_start_are_counted_apart() -> None:
    """Else a cluster in which nearly all pods run already looks as if hardly any had been placed."""
    there = cluster(*nodes(2), make.pod("old").running("n1"), make.pod("new"), make.pod("large").cpu("9"))
    pods = simulate(there, until=60).summary.pods
    assert (pods.created, pods.bound_before, pods.needing_node, pods.placed, pods.pending) == (3, 1, 2, 1, 1)
