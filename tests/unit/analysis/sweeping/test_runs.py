"""A run of a sweep is what `simulate` gives, byte for byte; what is wrong with it is a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.analysis.simulation.replaying.recorded_worlds import record
from tests.unit.analysis.sweeping.stories import MOST, prepared, story_cluster, urgent

import bayplan
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.analysis.sweeping.runs import do_run, figures_of, run_digest, simulated
from bayplan.model.time_units import SECOND


def bytes_of(result: Any) -> bytes:
    return msgspec.json.encode(result.run)


def test_a_run_is_what_simulate_gives() -> None:
    found = prepared({"seed": [1, 2], MOST: ["LeastAllocated", "MostAllocated"]})
    spec = found.spec_at(3)
    expected = bayplan.simulate(story_cluster(), urgent(), config=spec.config, seed=2, until="5m")
    assert bytes_of(simulated(found.story, spec)) == bytes_of(expected)
    outcome = do_run(found.story, "x", spec)
    assert (outcome.run, outcome.error, outcome.digest) == ("x", "", run_digest(expected.run))
    assert outcome.figures == figures_of(expected.run)


def test_a_run_with_more_nodes_and_another_version_is_what_simulate_gives() -> None:
    found = prepared({"nodes": ["8cpu,32Gi=2"], "kubernetesVersion": ["1.37"], "seed": [7]})
    objects = [*story_cluster().objects, *nodes_like(["8cpu,32Gi=2"])]
    expected = bayplan.simulate(Cluster(objects, kubernetes_version="1.37"), urgent(), seed=7, until="5m")
    assert bytes_of(simulated(found.story, found.spec_at(0))) == bytes_of(expected)


def test_a_run_of_a_recording_is_what_simulate_gives(tmp_path: Path) -> None:
    record(tmp_path / "a.rec", story_cluster(), urgent(), until_ns=300 * SECOND)
    axes = {"seed": [7], MOST: ["MostAllocated"], "nodes.4cpu,8Gi": [1], "recording.nodes": [True, False]}
    found = prepared(axes, base_cluster=Cluster([]), timeline=None, until=None, recording=tmp_path / "a.rec")
    for place, nodes in enumerate((True, False)):
        spec = found.spec_at(place)
        life = bayplan.load_recording(tmp_path / "a.rec", nodes=nodes)
        more = Cluster([*nodes_like(["4cpu,8Gi=1"])], kubernetes_version="1.37")
        expected = bayplan.simulate(more, recording=life, config=spec.config, seed=7)
        assert bytes_of(simulated(found.story, spec)) == bytes_of(expected)
        outcome = do_run(found.story, "x", spec)
        assert outcome.digest == run_digest(expected.run)
        assert expected.run.fidelity is not None
        assert outcome.figures["fidelity.placedHere"] == expected.run.fidelity.placed_here > 0


def test_one_run_leaves_nothing_behind_for_the_next() -> None:
    found = prepared({"seed": [1, 2]})
    first = do_run(found.story, "a", found.spec_at(0))
    do_run(found.story, "b", found.spec_at(1))
    assert do_run(found.story, "a", found.spec_at(0)) == first


def test_a_combination_that_is_no_configuration_is_a_row_with_its_error() -> None:
    found = prepared({MOST: ["LeastAllocated", "NoSuchStrategy"]})
    assert do_run(found.story, "a", found.spec_at(0)).error == ""
    wrong = do_run(found.story, "b", found.spec_at(1))
    assert "scoringStrategy" in wrong.error
    assert wrong.figures == {}


def test_a_bug_in_one_run_is_a_row_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("bayplan.analysis.sweeping.runs.simulated", broken)
    found = prepared({"seed": [1]})
    assert do_run(found.story, "a", found.spec_at(0)).error == "unexpected RuntimeError: oops"


def test_figures_have_every_number_of_the_summary() -> None:
    result = bayplan.simulate(story_cluster(), urgent(), until="5m")
    figures = figures_of(result.run)
    assert figures["pods.preempted"] == result.summary.pods.preempted > 0
    assert figures["evictions.preemption"] == result.summary.evictions["preemption"]
    assert figures["evictions.node"] == 0
    assert figures["waiting.high.p99"] == result.summary.waiting["high"].p99
    assert figures["nodeHours"] == pytest.approx(3 * 300 / 3600)
