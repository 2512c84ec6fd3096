"""Which gates a run does not pass, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Sequence

import click

from bayplan.analysis.gates import FailCondition, FailKind
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_format import End, EvictionCause, PodRow, Run
from bayplan.cli.main import EXIT_INTERRUPTED, EXIT_NO, EXIT_YES
from bayplan.report.hidden_characters import visible
from bayplan.report.words import counted, listed

#: What a run can be judged by.
KINDS = tuple(FailKind)
_PODS_NAMED = 3


def judge(result: SimulationResult, gates: Sequence[FailCondition], run: str = "") -> int:
    """Reports what failed, and returns the exit code; `run` is the run's name if there are several."""
    failures = [why for gate in gates if (why := _failure(gate, result.run))]
    for why in failures:
        click.echo(f"failed: {run + ': ' if run else ''}{visible(why)}", err=True)
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_NO if failures else EXIT_YES


def _failure(gate: FailCondition, run: Run) -> str:
    """Why the run counts as failed, "" if it does not."""
    match gate.kind:
        case FailKind.LOOP:
            loops = [f"{loop.preemptor} evicts {loop.victim}" for loop in run.loops]
            return f"{counted(len(loops), 'loop')}: {listed(loops, _PODS_NAMED)}" if loops else ""
        case FailKind.DEADLOCK:
            circles = [listed([each.group for each in deadlock.groups]) for deadlock in run.deadlocks]
            return f"{counted(len(circles), 'deadlock')}: {listed(circles, _PODS_NAMED)}" if circles else ""
        case FailKind.PDB:
            broken = run.summary.budgets_broken
            return f"PodDisruptionBudgets were violated {counted(broken, 'time')}" if broken else ""
        case FailKind.PENDING:
            waiting = [pod.key for pod in run.pods if pod.end is End.PENDING]
            return f"{counted(len(waiting), 'pod')} without a node: {listed(waiting, _PODS_NAMED)}" if waiting else ""
        case FailKind.EVICTS:
            number = sum(pod.evicted is EvictionCause.PREEMPTION and gate.covers(_class_of(pod)) for pod in run.pods)
            of_class = f" of class {gate.class_name}" if gate.class_name else ""
            return f"{counted(number, 'pod')}{of_class} preempted" if number else ""


def _class_of(pod: PodRow) -> str:
    """The name of its PriorityClass; a run has the priority, or none, of pods without one."""
    name = pod.class_name
    return "" if name == "none" or " " in name else name
