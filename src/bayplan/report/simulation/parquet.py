"""The tables of a run as Parquet files in one folder, `pods.parquet` and so on.

Takes Arrow tables by name. Files of an earlier run are replaced, other files are not touched. All files are written in
full before the first one gets its name, so that tables of two runs never mix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def write_parquet(tables: Mapping[str, Any], folder: Path | str) -> None:
    """One file for each table; the folder is created if it does not exist, its parent is not."""
    write_table = import_module("pyarrow.parquet").write_table
    target = Path(folder)
    is_new = not target.exists()
    target.mkdir(exist_ok=True)
    unfinished = {target / f".{name}.parquet.unfinished": target / f"{name}.parquet" for name in tables}
    try:
        for path, table in zip(unfinished, tables.values(), strict=True):
            write_table(table, path)
        for path, final in unfinished.items():
            os.replace(path, final)
    finally:
        for path in unfinished:
            path.unlink(missing_ok=True)
        if is_new and not any(target.iterdir()):
            target.rmdir()
