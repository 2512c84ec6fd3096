"""The mark of a run's input: the same for the same story, another one as soon as anything in it differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.analysis.simulation.worlds import MINUTE, after, cluster, nodes, objects, workload

from bayplan.analysis.simulation.inputs.commands import Apply, Command, Cordon, Drain, NodesFail, PlannedCommand
from bayplan.analysis.simulation.inputs.digest import inputs_mark
from bayplan.analysis.simulation.inputs.traces import Arrivals, load_trace
from bayplan.analysis.simulation.running import Options, Simulation
from bayplan.worlds.delays import Latencies

TRACE = "arrival,duration,name,cpu\n0,60,a,1\n5,60,b,2\n"


def mark(number: int = 2, plans: tuple[PlannedCommand, ...] = (), arrivals: Arrivals | None = None) -> str:
    return inputs_mark(objects(*nodes(number)), plans, arrivals, Latencies())


def arrivals_of(folder: Path, text: str = TRACE, **options: float) -> Arrivals:
    path = folder / f"{abs(hash(text))}.csv"
    path.write_text(text, encoding="utf-8")
    return load_trace(f"csv:{path}", **options).arrivals  # type: ignore[arg-type]


def test_objects_count() -> None:
    assert mark(2) == mark(2) != mark(3)


def test_delays_count() -> None:
    given = objects(*nodes(1))
    assert inputs_mark(given, (), None, Latencies()) != inputs_mark(given, (), None, Latencies(jitter=0.0))


@pytest.mark.parametrize("other", [Drain(("n1",)), NodesFail(("n1",)), Cordon(("n1",), False)], ids=str)
def test_commands_of_the_same_fields_are_told_apart(other: Command) -> None:
    assert mark(plans=(after(1, Cordon(("n1",))),)) != mark(plans=(after(1, other),))


def test_time_counts_and_the_file_does_not() -> None:
    plan = PlannedCommand(MINUTE, Drain(("n1",)), "day.yaml:3")
    assert mark(plans=(plan,)) == mark(plans=(replace(plan, source="copy/day.yaml:9"),))
    assert mark(plans=(plan,)) != mark(plans=(replace(plan, at=2 * MINUTE),))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(TRACE.replace("b,2", "b,3"), {}, id="another request"),
        pytest.param(TRACE.replace("5,60", "6,60"), {}, id="another time"),
        pytest.param(TRACE.replace(",b,", ",c,"), {}, id="another name"),
        pytest.param(TRACE, {"stretch": 2.0}, id="stretched"),
        pytest.param(TRACE, {"repeat": 2}, id="repeated"),
        pytest.param(TRACE, {"shrink": 0.5}, id="shrunk"),
        pytest.param(TRACE, {"departures": False}, id="without departures"),
    ],
)
def test_a_trace_counts_with_how_it_is_played(tmp_path: Path, text: str, options: dict[str, float]) -> None:
    played = mark(arrivals=arrivals_of(tmp_path))
    assert played == mark(arrivals=arrivals_of(tmp_path))
    assert played != mark(arrivals=arrivals_of(tmp_path, text, **options))
    assert played != mark()


def test_a_story_told_twice_is_the_same_story() -> None:
    """A run leaves what it was given as it is, so that the next one is held to be of the same input."""
    given = cluster(*nodes(2), workload("web", 2, "1", "low"))
    (urgent,) = objects(workload("urgent", 1, "3", "high"))
    plans = (after(1, Apply((urgent,))),)
    first, second = (Simulation(given, plans, Options(until_ns=5 * MINUTE)).run() for _ in range(2))
    assert first.run.inputs == second.run.inputs
