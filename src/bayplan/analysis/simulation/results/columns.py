"""A run as tables of NumPy arrays: what became of each pod and node, who was preempted for whom, figures over time.

Takes the ledgers of a run, gives one `Columns` for each table. Names are those of the JSON, with a dot for what stands
inside something else there: `allocatable.cpu`, `queue.active`. Times are seconds since the start, NaN for what never
happened; CPU is in milli, memory in bytes. Nothing is computed here that `bayplan simulate` would show differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from bayplan.analysis.simulation.recording.pod_ledger import NEVER, NodeLedger, PodLedger
from bayplan.analysis.simulation.recording.preemption_log import Preemption
from bayplan.analysis.simulation.recording.series import Series

Column = npt.NDArray[Any]
#: In a notebook.
ROWS_SHOWN = 10


class Columns(Mapping[str, Column]):
    """One table: arrays of the same length by name. `rows` is that length, while `len` counts the columns."""

    def __init__(self, arrays: Mapping[str, Column]) -> None:
        self._arrays = dict(arrays)
        lengths = {len(array) for array in self._arrays.values()}
        assert len(lengths) == 1, f"columns of different lengths: {lengths}"
        (self.rows,) = lengths

    def __getitem__(self, name: str) -> Column:
        if name not in self._arrays:
            raise KeyError(f"there is no column {name!r}; there are: {', '.join(self._arrays)}")
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<{self.rows:,} rows of {', '.join(self._arrays)}>"

    def _repr_html_(self) -> str:
        """The first rows, as notebooks show them."""
        shown = range(min(self.rows, ROWS_SHOWN))
        lines = [_html_row("th", self._arrays)]
        lines += [_html_row("td", [_cell(array[row]) for array in self._arrays.values()]) for row in shown]
        rest = f"<p>and {self.rows - ROWS_SHOWN:,} more</p>" if self.rows > ROWS_SHOWN else ""
        return f"<table>{''.join(lines)}</table>{rest}"


def pod_columns(pods: PodLedger) -> Columns:
    """One row for each pod that ever was, in order of creation."""
    return Columns(
        {
            "key": _texts(pods.keys),
            "class": _texts(pods.classes),
            "priority": _whole(pods.priorities),
            "owner": _texts(pods.owners),
            "node": _texts(pods.nodes),
            "created": _seconds(pods.created),
            "bound": _seconds(pods.bound),
            "started": _seconds(pods.started),
            "ended": _seconds(pods.ended),
            "end": _texts(pods.ends),
            "waiting": _waiting(pods),
            "evicted": _texts([pods.evicted.get(row, "") for row in range(len(pods.keys))]),
            "cpu": _whole(pods.cpu_milli),
            "memory": _whole(pods.memory_bytes),
        }
    )


def node_columns(nodes: NodeLedger) -> Columns:
    """One row for each node; one that went and came again has several."""
    told = nodes.nodes
    resources = sorted({name for one in told for name in one["allocatable"]})
    return Columns(
        {
            "name": _texts([one["name"] for one in told]),
            "from": _numbers([one["from"] for one in told]),
            "until": _numbers([np.nan if one["until"] is None else one["until"] for one in told]),
            **{f"allocatable.{name}": _whole([one["allocatable"].get(name, 0) for one in told]) for name in resources},
        }
    )


def preemption_columns(preemptions: Sequence[Preemption]) -> Columns:
    """One row for each decision to evict, in order of time."""
    return Columns(
        {
            "t": _numbers([one.at / 1e9 for one in preemptions]),
            "preemptor": _texts([one.preemptor for one in preemptions]),
            "priority": _whole([one.priority for one in preemptions]),
            "node": _texts([one.node for one in preemptions]),
            "victims": _whole([len(one.victims) for one in preemptions]),
            "breaks": _whole([sum(len(victim["breaks"]) for victim in one.victims) for one in preemptions]),
            "decided": _texts([one.decided for one in preemptions]),
        }
    )


def victim_columns(preemptions: Sequence[Preemption]) -> Columns:
    """One row for each victim of each preemption; `preemption` is the row of that in its own table."""
    victims = [(row, victim) for row, one in enumerate(preemptions) for victim in one.victims]
    return Columns(
        {
            "preemption": _whole([row for row, _ in victims]),
            "pod": _texts([victim["pod"] for _, victim in victims]),
            "priority": _whole([victim["priority"] for _, victim in victims]),
            "breaks": _whole([len(victim["breaks"]) for _, victim in victims]),
        }
    )


def series_columns(series: Series) -> Columns:
    """One row for each sample of the whole cluster."""
    return Columns(
        {
            "t": _numbers(series.times),
            **{f"queue.{place}": _whole(counts) for place, counts in series.queue.items()},
            **{f"used.{name}": _numbers(shares) for name, shares in series.used.items()},
            "running": _whole(series.running),
            "fragmentation": _numbers(series.fragmentation),
        }
    )


def _waiting(pods: PodLedger) -> Column:
    """From creation to the node; NaN for pods that still wait, or came to their node before the run began."""
    bound, created = np.array(pods.bound, dtype=np.int64), np.array(pods.created, dtype=np.int64)
    unknown = (bound == NEVER) | np.array(pods.was_there, dtype=bool)
    return np.where(unknown, np.nan, (bound - created) / 1e9)


def _seconds(times: Sequence[int]) -> Column:
    nanoseconds = np.array(times, dtype=np.int64)
    return np.where(nanoseconds == NEVER, np.nan, nanoseconds / 1e9)


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if np.isnan(value) else f"{value:.6g}"


def _texts(values: Sequence[str]) -> Column:
    return np.array(values, dtype=np.str_)


def _whole(values: Sequence[int]) -> Column:
    return np.array(values, dtype=np.int64)


def _numbers(values: Sequence[float]) -> Column:
    return np.array(values, dtype=np.float64)
