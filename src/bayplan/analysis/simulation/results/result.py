"""What `bayplan.simulate` gives: a run, its tables for programs, and ways to hand it on.

`run` holds everything as typed data (see `run_format.py`), and the same seed gives the same bytes of it. `pods`,
`nodes`, `preemptions`, `victims` and `series` are tables of NumPy arrays (see `columns`), and `to_arrow` gives the same
for Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from bayplan.analysis.showing import Shown
from bayplan.analysis.simulation.results.arrow import arrow_tables
from bayplan.analysis.simulation.results.columns import (
    Columns,
    node_columns,
    pod_columns,
    preemption_columns,
    series_columns,
    victim_columns,
)
from bayplan.analysis.simulation.results.run_format import FORMAT, Run, Summary


@dataclass(repr=False)  # a run holds every pod
class SimulationResult(Shown):
    """One run."""

    run: Run
    interrupted: bool = False  # by the user; a partial run may also have ended itself

    def __repr__(self) -> str:
        run, pods = self.run, self.summary.pods
        figures = f"{pods.bound_before:,} running at the start, " if pods.bound_before else ""
        figures += f"{pods.needing_node:,} created, {pods.placed:,} placed, {pods.preempted:,} preempted, "
        figures += f"{pods.pending:,} pending"
        return f"<SimulationResult{' (partial)' if run.partial else ''}: {run.seconds:,.0f} s, pods: {figures}>"

    @property
    def summary(self) -> Summary:
        return self.run.summary

    @cached_property
    def pods(self) -> Columns:
        """Every pod that ever was, in order of creation."""
        return pod_columns(self.run.pods)

    @cached_property
    def nodes(self) -> Columns:
        """Every node, with the time it was there."""
        return node_columns(self.run.nodes)

    @cached_property
    def preemptions(self) -> Columns:
        """Every decision to evict, in order of time."""
        return preemption_columns(self.run.preemptions)

    @cached_property
    def victims(self) -> Columns:
        """Who had to go: `preemption` is the row in `preemptions`."""
        return victim_columns(self.run.preemptions)

    @cached_property
    def series(self) -> Columns:
        """The whole cluster over time."""
        return series_columns(self.run.series)

    @property
    def tables(self) -> dict[str, Columns]:
        """All of the above by name."""
        return {name: getattr(self, name) for name in ("pods", "nodes", "preemptions", "victims", "series")}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self.run)
        return plain

    def to_arrow(self) -> dict[str, Any]:
        """The tables as `pyarrow.Table`s, by name; needs the extra `bayplan[arrow]`."""
        run = self.run
        about = {"format": FORMAT, "seed": run.seed, "config": run.configs, "wakeups": run.wakeups}
        return arrow_tables(self.tables, {**about, "seconds": run.seconds, "partial": run.partial})
