"""Recordings of simulated clusters, played again: as they were, and as they might have been."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.recordings.histories import end_of
from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects, pattern, workload

import bayplan
from bayplan.analysis.recordings.disguise import write_anonymized
from bayplan.analysis.recordings.reader import RecordingReader
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    ScaleWorkload,
    SetLabels,
    SetTaints,
)
from bayplan.analysis.simulation.recording.preemption_log import RECORDED
from bayplan.analysis.simulation.replaying.recorded_life import load_recording
from bayplan.analysis.simulation.results.run_format import End
from bayplan.analysis.simulation.running import Simulation
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.node import Taint
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make
from bayplan.worlds.journal import JournalWriter, Player, read_head, scheduler_for

from .recorded_worlds import record

WEB = Reference("Deployment", "default", "web")
JOB = make.job("train").set(parallelism=3, completions=3)
JOB = JOB.template(pattern("train", "1", "low").annotations({RUN_SECONDS: "90"}))
STORY: list[tuple[float, Command]] = [
    (1, Apply(objects(workload("api", 2, "1", "high")))),
    (2, Apply(objects(JOB))),
    (3, ScaleWorkload((WEB,), 5)),
    (5, Apply(objects(make.node("n9").capacity(cpu="4", memory="8Gi", pods=20)))),
    (6, Cordon(("n1",))),
    (7, Drain(("n2",))),
    (8, Cordon(("n1",), unschedulable=False)),
    (9, SetTaints(("n3",), add=(Taint(key="team", value="a", effect="NoSchedule"),))),
    (10, SetLabels(("n3",), {"disk": "ssd"})),
    (12, NodesFail(("n3",))),
    (20, NodesRecover(("n3",))),
    (22, DeleteObject((WEB,))),
    (24, DeleteObject((Reference("Node", "", "n4"),))),
]


def test_a_life_played_again_is_the_same(tmp_path: Path) -> None:
    """Much room, so that nothing depends on who comes a millisecond earlier."""
    first = cluster(*nodes(6), workload("web", 3, "1", "low"))
    was = record(tmp_path / "a", first, [after(minutes, command) for minutes, command in STORY], until_ns=None)
    now = bayplan.simulate(recording=tmp_path / "a")
    found = now.run.fidelity
    assert found is not None
    assert found.placed == was.summary.pods.placed > 10
    assert found.same_node == found.placed_here == found.placed
    assert found.started_within_second == found.started
    assert now.summary.pods == was.summary.pods
    assert now.run.seconds == was.run.seconds
    assert [(node.name, node.since, node.until) for node in now.run.nodes] == [
        (node.name, node.since, node.until) for node in was.run.nodes
    ]
    assert [note.message for note in now.run.notes] == []


def test_of_equally_good_nodes_the_recorded_one_is_taken(tmp_path: Path) -> None:
    """As kube-scheduler draws lots; and a journal of the run can be replayed."""
    story = [after(minutes, command) for minutes, command in STORY]
    first = cluster(*nodes(6), workload("web", 3, "1", "low"))
    drawn = record(tmp_path / "a", first, story, draws=True, until_ns=None)
    by_name = record(tmp_path / "b", first, story, until_ns=None)
    assert [pod.node for pod in drawn.run.pods] != [pod.node for pod in by_name.run.pods]
    life, text = load_recording(tmp_path / "a"), StringIO()
    played = Simulation(
        bayplan.Cluster(life.joined_to([])), journal=lambda head: JournalWriter(text, head), recorded=life
    ).run()
    found = played.run.fidelity
    assert found is not None
    assert found.same_node == found.placed > 10
    lines = iter(text.getvalue().splitlines())
    assert list(Player(scheduler_for(read_head(lines))).play(lines)) == []


def test_of_equally_good_victims_the_recorded_ones_are_evicted(tmp_path: Path) -> None:
    urgent = Apply(objects(*(pattern(name, "3", "high") for name in ("urgent-a", "urgent-b", "urgent-c"))))
    first = cluster(*nodes(6), workload("web", 6, "3", "low"))
    record(tmp_path / "a", first, [after(1, urgent)], draws=True)
    run = bayplan.simulate(recording=tmp_path / "a").run
    found = run.fidelity
    assert found is not None
    assert (found.preempted, found.preempted_both, found.same_node) == (3, 3, found.placed)
    assert RECORDED in {preemption.decided for preemption in run.preemptions}


COMMANDS = st.sampled_from([command for _, command in STORY])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(commands=st.lists(st.tuples(st.integers(1, 30), COMMANDS), max_size=8), seed=st.integers(0, 5))
def test_any_life_with_room_is_nearly_the_same(
    tmp_path_factory: pytest.TempPathFactory, commands: list[tuple[int, Command]], seed: int
) -> None:
    path = tmp_path_factory.mktemp("life") / "a"
    record(path, cluster(*nodes(6), workload("web", 3, "1", "low")), [after(*each) for each in commands], seed=seed)
    found = bayplan.simulate(recording=path, seed=seed + 1).run.fidelity
    assert found is not None
    assert found.placed_here >= 0.9 * found.placed
    assert found.same_node >= 0.8 * found.placed
    assert found.preempted == found.preempted_here


def test_preemptions_are_decided_again(tmp_path: Path) -> None:
    """The preemptor is exogenous, what it evicts is not, and the victim's workload makes another pod."""
    urgent = Apply(objects(pattern("urgent", "3", "high")))
    was = record(tmp_path / "a", cluster(*nodes(2), workload("web", 2, "3", "low")), [after(1, urgent)])
    assert was.summary.pods.preempted == 1
    now = bayplan.simulate(recording=tmp_path / "a")
    assert now.run.fidelity is not None
    assert (now.run.fidelity.preempted, now.run.fidelity.preempted_both) == (1, 1)
    assert now.summary.pods == was.summary.pods


def test_run_times_are_those_of_the_recording(tmp_path: Path) -> None:
    """Also of pods whose annotations say nothing, as in a real cluster; one had run for some time."""
    record(tmp_path / "a", cluster(*nodes(3)), [after(2, Apply(objects(JOB)))])
    life = load_recording(tmp_path / "a")
    for plan in life.plans:
        if isinstance(plan.command, Apply):
            for job in plan.command.objects:
                job.spec.template.metadata.annotations.clear()  # type: ignore[union-attr]
    now = bayplan.simulate(recording=life)
    assert [pod.end for pod in now.run.pods] == [End.FINISHED] * 3
    for pod in now.run.pods:
        assert pod.ended is not None
        assert pod.started is not None
        assert pod.ended - pod.started == pytest.approx(90, abs=0.01)


def test_pods_that_ran_at_first_end_when_they_did(tmp_path: Path) -> None:
    """A recorder that comes while they run, to a Job whose template says nothing of how long that takes."""
    record(tmp_path / "a", cluster(*nodes(3)), [after(0, Apply(objects(JOB)))], until_ns=200 * SECOND)
    reader = RecordingReader(str(tmp_path / "a"))
    happenings = list(reader)
    at_first = [happening for happening in happenings if happening.at <= reader.started_at + 20 * SECOND]
    later = RecordingWriter(str(tmp_path / "b"), {})
    known = end_of(reader.objects, [happening.event for happening in at_first])
    for obj in known.values():
        obj.metadata.annotations.clear()
    later.begin(known.values(), at_first[-1].at)
    for happening in happenings[len(at_first) :]:
        later.event(happening.event, happening.at)
    later.close(reader.ended_at)
    now = bayplan.simulate(recording=tmp_path / "b")
    assert [pod.end for pod in now.run.pods] == [End.FINISHED] * 3
    recorded = {pod.key: pod.ended for pod in load_recording(tmp_path / "b").rows}
    assert {pod.key: pod.ended for pod in now.run.pods} == pytest.approx(recorded, abs=0.01)


def test_other_nodes_take_the_pods(tmp_path: Path) -> None:
    record(tmp_path / "a", cluster(*nodes(3), workload("web", 4, "1", "low")), [after(1, ScaleWorkload((WEB,), 6))])
    life = load_recording(tmp_path / "a", nodes=False)
    large = make.node("large").capacity(cpu="16", memory="64Gi", pods=110).manifest().obj()
    now = bayplan.simulate(bayplan.Cluster([large]), recording=life)
    assert {pod.node for pod in now.run.pods} == {"large"}
    assert len(now.run.nodes) == 1
    assert now.run.fidelity is not None
    assert now.run.fidelity.same_node == 0


def test_another_configuration_decides_otherwise(tmp_path: Path) -> None:
    packing = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": "MostAllocated",
                                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                            }
                        },
                    }
                ],
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}},
            }
        ],
    }
    record(tmp_path / "a", cluster(*nodes(4)), [after(1, Apply(objects(workload("web", 4, "1", "low"))))])
    now = bayplan.simulate(recording=tmp_path / "a", config=packing)
    assert len({pod.node for pod in now.run.pods}) == 1
    assert now.run.fidelity is not None
    assert now.run.fidelity.same_node == 1


def test_a_timeline_may_name_a_node_that_joins_in_the_recording(tmp_path: Path) -> None:
    joins = Apply(objects(make.node("n9").capacity(cpu="4", memory="8Gi", pods=20)))
    record(tmp_path / "a", cluster(*nodes(1)), [after(5, joins)])
    now = bayplan.simulate(timeline=[after(6, Cordon(("n9",)))], recording=tmp_path / "a")
    assert now.run.notes == []


def test_a_run_that_ends_early_is_compared_with_what_happened_by_then(tmp_path: Path) -> None:
    plans = [after(minute, Apply(objects(pattern(f"p{minute}", "1", "low")))) for minute in range(1, 5)]
    record(tmp_path / "a", cluster(*nodes(2)), plans)
    found = bayplan.simulate(recording=tmp_path / "a", until="150s").run.fidelity
    assert found is not None
    assert (found.placed, found.placed_here) == (2, 2)


def test_the_version_is_the_recorded_one(tmp_path: Path) -> None:
    record(tmp_path / "a", cluster(*nodes(1)))
    assert load_recording(tmp_path / "a").kubernetes_version == "v1.37.0"


def test_an_anonymized_life_takes_the_same_course(tmp_path: Path) -> None:
    first = cluster(*nodes(6), workload("web", 3, "1", "low"))
    was = record(tmp_path / "a", first, [after(minutes, command) for minutes, command in STORY])
    write_anonymized(str(tmp_path / "a"), str(tmp_path / "b"))
    now = bayplan.simulate(recording=tmp_path / "b")
    found = now.run.fidelity
    assert found is not None
    assert found.same_node == found.placed == was.summary.pods.placed
    assert now.summary.pods == was.summary.pods
    assert not {pod.owner.rpartition("/")[2] for pod in now.run.pods} & {"web", "api", "train"}
