"""Libraries for tables and searches that an installation may lack: each is imported when it is first used.

Takes the name of a library, gives its module or an error that says what to install; and columns of arrays as a table of
Arrow, with null for NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_NEEDED_FOR = {
    "pyarrow": "Arrow tables and Parquet files need",
    "pandas": "DataFrames of pandas need",
    "polars": "DataFrames of polars need",
    "optuna": "searches for the best settings need",
}
_EXTRAS = {"pyarrow": "arrow"}


class LibraryMissingError(ImportError):
    """An optional library is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{_NEEDED_FOR[name]} {name}: pip install 'bayplan[{_EXTRAS.get(name, name)}]'", name=name)


def require(name: str) -> None:
    """LibraryMissingError now rather than after a long run."""
    if find_spec(name) is None:
        raise LibraryMissingError(name)


def library(name: str) -> Any:
    """The module of pyarrow, pandas, polars or optuna."""
    require(name)
    match name:
        case "pandas":
            return import_module("pandas")
        case "polars":
            return import_module("polars")
        case "optuna":
            return import_module("optuna")
        case _:
            return import_module("pyarrow")


def arrow_table(columns: Mapping[str, Any], metadata: Mapping[bytes, bytes] | None = None) -> Any:
    """A `pyarrow.Table`."""
    arrow = library("pyarrow")
    arrays = {name: arrow.array(array, from_pandas=True) for name, array in columns.items()}
    return arrow.table(arrays, metadata=metadata)
