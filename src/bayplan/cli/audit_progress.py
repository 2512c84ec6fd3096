"""A progress bar for the nodes that an audit lets fail, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bayplan.analysis.answers.audit.audited import Tell


@contextmanager
def failures_bar() -> Iterator[Tell | None]:
    """A callback for progress; None if there is no terminal. The bar disappears at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking rules", total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=f"node failures tried: {done:,} of {total:,}")

        yield tell
