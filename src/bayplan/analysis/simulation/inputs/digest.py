"""A short mark of all that a run was given, to tell later whether two runs are of the same story.

Takes the cluster's objects, the plans, the arrivals of a trace and the typical delays; gives a few letters that are
equal for equal input, wherever its files lay. Seed, configuration and length are no part of it: a result names these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.analysis.simulation.inputs.commands import Plan
from bayplan.analysis.simulation.inputs.traces import Arrivals
from bayplan.model.fingerprint import digest
from bayplan.model.kinds import Object
from bayplan.worlds.delays import Latencies


def inputs_mark(
    objects: Iterable[Object], plans: Sequence[Plan], arrivals: Arrivals | None, latencies: Latencies
) -> str:
    """Thirty-two letters; to be asked for before the run, while the objects are as they came."""
    return digest(
        (
            # The names of kinds and commands, because many have the same fields.
            [(type(obj).__name__, obj) for obj in objects],
            [(plan.at, type(plan.command).__name__, plan.command) for plan in plans],
            arrivals.digest() if arrivals is not None else None,
            latencies,
        )
    ).hex()
