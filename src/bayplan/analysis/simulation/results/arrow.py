"""The tables of a run for Arrow: columns in, one `pyarrow.Table` for each table out.

Takes over types and names as they are; what never happened is null. Each table carries what is needed to know the run
again (seed, configuration, whether it is partial) in its schema's metadata, under `bayplan`. Needs the extra `arrow`,
which is looked for only when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.columns import Columns

METADATA_KEY = b"bayplan"


class ArrowMissingError(ImportError):
    """There is no pyarrow in this installation."""

    def __init__(self) -> None:
        super().__init__("Arrow tables and Parquet files need pyarrow: pip install 'bayplan[arrow]'")


def require_arrow() -> None:
    """ArrowMissingError now rather than after a long run."""
    if find_spec("pyarrow") is None:
        raise ArrowMissingError


def arrow_tables(tables: Mapping[str, Columns], about: Mapping[str, Any]) -> dict[str, Any]:
    """The same tables as `pyarrow.Table`s; `about` is stored in the metadata of each."""
    require_arrow()
    arrow = import_module("pyarrow")
    metadata = {METADATA_KEY: msgspec.json.encode(about)}
    return {
        name: arrow.table(
            {column: arrow.array(array, from_pandas=True) for column, array in columns.items()}, metadata=metadata
        )
        for name, columns in tables.items()
    }
