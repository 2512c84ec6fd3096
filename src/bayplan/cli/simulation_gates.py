"""`--fail-on`: conditions under which a run counts as failed, for use in CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_format import Cause, End, Run
from bayplan.cli.main import EXIT_INTERRUPTED, EXIT_NO, EXIT_YES
from bayplan.cli.options import bad_option
from bayplan.model.cluster import PriorityClass
from bayplan.report.words import counted, listed

_EVICTS = "evicts"
_KINDS = ("loop", "pdb", "pending", _EVICTS)
_PODS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition; `class_name` is only for `evicts`."""

    kind: str
    class_name: str = ""

    def check(self, cluster: Cluster) -> None:
        """Pods of a class that does not exist are never evicted: such a condition could never be met."""
        known = {obj.metadata.name for obj in cluster.objects if isinstance(obj, PriorityClass)}
        known |= {pod.spec.priority_class_name for pod in cluster.pods.values()}
        if self.kind == _EVICTS and self.class_name not in {*known, "none"}:
            message = f"no PriorityClass {self.class_name}; known classes: {', '.join(sorted(known - {''}))}"
            raise bad_option("--fail-on", message)

    def broken_by(self, run: Run) -> str:
        """Why the run counts as failed, "" if it does not."""
        if self.kind == "loop":
            loops = [f"{loop.preemptor} evicts {loop.victim}" for loop in run.loops]
            return f"{counted(len(loops), 'loop')}: {listed(loops, _PODS_NAMED)}" if loops else ""
        if self.kind == "pdb":
            broken = run.summary.budgets_broken
            return f"PodDisruptionBudgets were violated {counted(broken, 'time')}" if broken else ""
        if self.kind == "pending":
            waiting = [pod.key for pod in run.pods if pod.end is End.PENDING]
            return f"{counted(len(waiting), 'pod')} without a node: {listed(waiting, _PODS_NAMED)}" if waiting else ""
        number = sum(pod.evicted is Cause.PREEMPTION and pod.class_name == self.class_name for pod in run.pods)
        return f"{counted(number, 'pod')} of class {self.class_name} preempted" if number else ""


def judge(result: SimulationResult, gates: Sequence[Gate], run: str = "") -> int:
    """Reports what failed, and returns the exit code; `run` is the run's name if there are several."""
    failures = [why for gate in gates if (why := gate.broken_by(result.run))]
    for why in failures:
        click.echo(f"failed: {run + ': ' if run else ''}{why}", err=True)
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_NO if failures else EXIT_YES


def _parse(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Gate, ...]:
    gates = []
    for value in values:
        kind, has_class, class_name = value.partition("=")
        if kind not in _KINDS or bool(has_class) != (kind == _EVICTS) or (has_class and not class_name):
            raise click.BadParameter(f"{value!r}: expected loop, pdb, pending or evicts=CLASS", ctx, parameter)
        gates.append(Gate(kind, class_name))
    return tuple(gates)


gates_option = click.option(
    "--fail-on",
    "gates",
    multiple=True,
    metavar="loop|pdb|pending|evicts=CLASS",
    callback=_parse,
    help="Exit with code 1 if this happens. Can be repeated.",
)
