"""The tables of a run for Arrow: columns in, one `pyarrow.Table` for each table out.

Takes over types and names as they are; what never happened is null. Each table carries what is needed to know the run
again (seed, configuration, whether it is partial) in its schema's metadata, under `bayplan`. Needs the extra `arrow`,
which is looked for only when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.columns import Columns
from bayplan.analysis.simulation.results.libraries import arrow_table

METADATA_KEY = b"bayplan"


def arrow_tables(tables: Mapping[str, Columns], about: Mapping[str, Any]) -> dict[str, Any]:
    """The tables as `pyarrow.Table`s; `about` is stored in the metadata of each."""
    metadata = {METADATA_KEY: msgspec.json.encode(about)}
    return {name: arrow_table(columns, metadata) for name, columns in tables.items()}
