"""A run as tables of NumPy arrays: pods, nodes, preemptions, victims, and figures over time.

Takes the rows of a run, gives one `Columns` for each table. Columns and their types follow from the fields of the
rows, with a dot for nested values: `allocatable.cpu`, `queue.active`. Times of events that never happened
are NaN. Nothing is computed here but counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import fields

from bayplan.analysis.simulation.results.libraries import arrow_table, library
from bayplan.analysis.simulation.results.run_format import (
    ClusterSeries,
    End,
    EvictionCause,
    NodeRow,
    PodRow,
    RecordedPreemption,
    Victim,
)

Column = npt.NDArray[Any]
_DTYPES: dict[Any, type[np.generic]] = {
    int: np.int64,
    **dict.fromkeys((float, float | None), np.float64),
    **dict.fromkeys((str, str | None, End, EvictionCause | None), np.str_),
}
#: In a notebook.
ROWS_SHOWN = 10


class Columns(dict[str, Column]):
    """One table: arrays of the same length by name. `rows` is that length, while `len` counts the columns.

    A dict, as pandas takes any other mapping for a list of names.
    """

    def __init__(self, arrays: Mapping[str, Column]) -> None:
        super().__init__(arrays)
        assert len({len(array) for array in self.values()}) == 1, "columns of different lengths"

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (dict(self),)

    @property
    def rows(self) -> int:
        return len(next(iter(self.values())))

    def __missing__(self, name: str) -> Column:
        raise KeyError(f"no column {name!r}; columns: {', '.join(self)}")

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; what never happened is NaN. Needs the extra `bayplan[pandas]`."""
        return library("pandas").DataFrame(dict(self))

    def to_polars(self) -> Any:
        """A `polars.DataFrame`; what never happened is null. Needs the extra `bayplan[polars]`."""
        return library("polars").DataFrame(dict(self), nan_to_null=True)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; what never happened is null. Needs the extra `bayplan[arrow]`."""
        return arrow_table(self)

    def __repr__(self) -> str:
        return f"<{self.rows:,} rows of {', '.join(self)}>"

    def _repr_html_(self) -> str:
        """The first rows, as notebooks show them."""
        shown = range(min(self.rows, ROWS_SHOWN))
        lines = [_html_row("th", self)]
        lines += [_html_row("td", [_cell(array[row]) for array in self.values()]) for row in shown]
        rest = f"<p>and {self.rows - ROWS_SHOWN:,} more</p>" if self.rows > ROWS_SHOWN else ""
        return f"<table>{Markup().join(lines)}</table>{rest}"


def pod_columns(pods: Sequence[PodRow]) -> Columns:
    """One row for each pod that ever was, in order of creation."""
    return Columns(_of_rows(PodRow, pods))


def node_columns(nodes: Sequence[NodeRow]) -> Columns:
    """One row for each node; one that went and came again has several."""
    resources = sorted({name for node in nodes for name in node.allocatable})
    amounts = {
        f"allocatable.{name}": _array(int, [node.allocatable.get(name, 0) for node in nodes]) for name in resources
    }
    return Columns(_of_rows(NodeRow, nodes) | amounts)


def preemption_columns(preemptions: Sequence[RecordedPreemption]) -> Columns:
    """One row for each decision to evict, in order of time; victims and the budgets that they break are counted."""
    arrays = _of_rows(RecordedPreemption, preemptions)
    decided = arrays.pop("decided")
    counts = {
        "victims": _array(int, [len(preemption.victims) for preemption in preemptions]),
        "breaks": _array(int, [preemption.breaks for preemption in preemptions]),
    }
    return Columns(arrays | counts | {"decided": decided})


def victim_columns(preemptions: Sequence[RecordedPreemption]) -> Columns:
    """One row for each victim of each preemption; `preemption` is the row of that in its own table."""
    rows = [row for row, preemption in enumerate(preemptions) for _ in preemption.victims]
    victims = [victim for preemption in preemptions for victim in preemption.victims]
    breaks = {"breaks": _array(int, [len(victim.breaks) for victim in victims])}
    return Columns({"preemption": _array(int, rows)} | _of_rows(Victim, victims) | breaks)


def series_columns(series: ClusterSeries) -> Columns:
    """One row for each sample of the whole cluster."""
    return Columns(
        {
            "t": _array(float, series.t),
            **{f"queue.{place}": _array(int, counts) for place, counts in series.queue.items()},
            **{f"used.{name}": _array(float, shares) for name, shares in series.used.items()},
            "running": _array(int, series.running),
            "fragmentation": _array(float, series.fragmentation),
        }
    )


def _of_rows(row_type: type[Struct], rows: Sequence[Struct]) -> dict[str, Column]:
    """A column for each field but collections and records, which have tables of their own."""
    return {
        field.encode_name: _array(field.type, [getattr(row, field.name) for row in rows])
        for field in fields(row_type)
        if not _is_nested(field.type)
    }


def _is_nested(kind: Any) -> bool:
    return any(
        get_origin(part) in (list, dict) or (isinstance(part, type) and issubclass(part, Struct))
        for part in (kind, *get_args(kind))
    )


def _array(kind: Any, values: Sequence[Any]) -> Column:
    """None is NaN among numbers, and an empty text."""
    dtype = _DTYPES[kind]
    return np.array([value or "" for value in values] if dtype is np.str_ else values, dtype=dtype)


def _html_row(tag: str, cells: Iterable[str]) -> Markup:
    return Markup("<tr>{}</tr>").format(Markup().join(Markup(f"<{tag}>{{}}</{tag}>").format(cell) for cell in cells))


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if np.isnan(value) else f"{value:.6g}"
