"""How far a sweep is: a bar with the time remaining on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bayplan.analysis.sweeping.sweeping import Progress as Tell
from bayplan.report.durations import duration_text

#: Seconds between two lines of a log.
LINE_EVERY = 10.0


@contextmanager
def sweep_progress(clock: Callable[[], float] = time.monotonic) -> Iterator[Tell]:
    """A callback for progress."""
    if not sys.stderr.isatty():
        yield _lines(clock)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, get_time=clock) as bar:
        task = bar.add_task("", total=1.0)

        def tell(done: int, total: int, failed: int) -> None:
            bar.update(task, completed=done / total, description=_said(done, total, failed))

        yield tell


def _lines(clock: Callable[[], float]) -> Tell:
    began = told = clock()
    before: int | None = None  # runs that were done already

    def tell(done: int, total: int, failed: int) -> None:
        nonlocal told, before
        if before is None:
            before = done - 1
        now = clock()
        if now - told < LINE_EVERY and done < total:
            return
        told = now
        left = (now - began) / (done - before) * (total - done)
        remaining = f", {duration_text(left)} left" if done < total else f" in {duration_text(now - began)}"
        click.echo(f"sweep: {_said(done, total, failed)}{remaining}", err=True)

    return tell


def _said(done: int, total: int, failed: int) -> str:
    return f"{done:,} of {total:,} runs" + (f", {failed:,} failed" if failed else "")
