"""Results of runs read from files: what is wrong is said with file and field, and what is right comes back whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.simulation.runs import Plain, plain, pod, run
from tests.unit.analysis.simulation.worlds import cluster, nodes, workload

from bayplan.analysis.simulation.results.run_files import read_runs
from bayplan.model.errors import InvalidObject


def written(folder: Path, content: Any) -> str:
    path = folder / "run.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def fault_of(path: str) -> str:
    with pytest.raises(InvalidObject) as caught:
        read_runs(path)
    return str(caught.value).replace(path, "run.json")


def broken(change: Callable[[Plain], Any]) -> Plain:
    made = plain(run([pod("x")]))
    change(made)
    return made


def test_one_run_with_fields_that_nobody_knows(tmp_path: Path) -> None:
    made = run([pod("x")])
    assert read_runs(written(tmp_path, plain(made) | {"unknown": {"ignored": True}})) == [made]


def test_runs_of_earlier_versions_say_less_of_pods(tmp_path: Path) -> None:
    made = plain(run([pod("x")]))
    for field in ("waiting", "evicted"):
        del made["pods"][0][field]
    assert read_runs(written(tmp_path, made)) == [run([pod("x", waiting=None)])]


def test_runs_of_several_configurations(tmp_path: Path) -> None:
    both = [run(configs="a.yaml"), run(configs="b.yaml")]
    assert (
        read_runs(
            written(
                tmp_path, {"format": "bayplan simulations v1", "runs": [plain(made) for made in both], "comparison": {}}
            )
        )
        == both
    )


def test_what_a_simulation_gives_is_a_run(tmp_path: Path) -> None:
    """So that the two sides of the format cannot drift apart."""
    import bayplan

    result = bayplan.simulate(cluster(*nodes(1), workload("web", 6, "1", "low")), until=60)
    assert read_runs(written(tmp_path, result.to_dict())) == [result.run]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "run.json: not a result of `bayplan simulate -o json`: line 1, column 2: not JSON"),
        ("", "run.json: not a result of `bayplan simulate -o json`: line 1, column 1: not JSON"),
        ("[]", "run.json: not a result of `bayplan simulate -o json`: it has no `format`"),
        ({"kind": "List"}, "run.json: not a result of `bayplan simulate -o json`: it has no `format`"),
        (
            {"format": "bayplan journal v1"},
            "run.json: format: is 'bayplan journal v1'; expected 'bayplan simulation v1'",
        ),
        ({"format": "bayplan simulations v1", "runs": []}, "run.json: runs: must be a list of runs"),
        (broken(lambda made: made.pop("seed")), "run.json: seed: is missing"),
        (broken(lambda made: made.update(seed="7")), "run.json: seed: must be int, not str"),
        (broken(lambda made: made["summary"]["pods"].pop("placed")), "run.json: summary.pods.placed: is missing"),
        (broken(lambda made: made["pods"][0].update(bound="soon")), "run.json: pods[0].bound: must be float or null"),
        (broken(lambda made: made["nodes"][0].pop("name")), "run.json: nodes[0].name: is missing"),
        (broken(lambda made: made["pods"][0].pop("class")), "run.json: pods[0].class: is missing"),
        (broken(lambda made: made["pods"][0].update(end="lost")), "run.json: pods[0].end: cannot be 'lost'"),
        (
            broken(lambda made: made["series"]["queue"].update(active=[1])),
            "run.json: series.queue.active: has 1 values for 2 times",
        ),
        (broken(lambda made: made["series"].update(running=[])), "run.json: series.running: has 0 values for 2 times"),
        (
            {"format": "bayplan simulations v1", "runs": [{"kind": "Pod"}]},
            "run.json: runs[0]: not a result of `bayplan simulate -o json`: it has no `format`",
        ),
        (
            {"format": "bayplan simulations v1", "runs": [plain(run()), broken(lambda made: made.pop("pods"))]},
            "run.json: runs[1].pods: is missing",
        ),
    ],
)
def test_faults_name_file_and_field(tmp_path: Path, content: Any, said: str) -> None:
    assert fault_of(written(tmp_path, content)).startswith(said)


def test_no_file(tmp_path: Path) -> None:
    assert "No such file" in fault_of(str(tmp_path / "absent.json"))
