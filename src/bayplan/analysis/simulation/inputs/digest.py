"""A short digest of everything a run was given, to know later whether two runs had the same input.

Takes the cluster's objects, the plans, the arrivals of a trace and the typical delays; returns a short text that is
equal for equal input, wherever its files are. Seed, configuration and length are not included: a result names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.traces import Arrivals
from bayplan.model.fingerprint import digest
from bayplan.model.kinds import Object
from bayplan.worlds.delays import Latencies


def inputs_mark(
    objects: Iterable[Object], plans: Sequence[PlannedCommand], arrivals: Arrivals | None, latencies: Latencies
) -> str:
    """Thirty-two letters; to be called before the run changes the objects."""
    return digest(
        (
            # The names of kinds and commands, because many have the same fields.
            [(type(obj).__name__, obj) for obj in objects],
            [(plan.at, type(plan.command).__name__, plan.command) for plan in plans],
            arrivals.digest() if arrivals is not None else None,
            latencies,
        )
    ).hex()
