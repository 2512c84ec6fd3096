"""A progress bar for a run in virtual time, on a terminal only: simulated time, speed-up and time remaining."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bayplan.analysis.simulation.running import Progress as Tell
from bayplan.report.durations import duration_text


@contextmanager
def progress_bar(clock: Callable[[], float] = time.monotonic) -> Iterator[Tell | None]:
    """A callback for progress; None if there is no terminal. The bar disappears when the run is over."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, get_time=clock) as bar:
        task = bar.add_task("", total=1.0)
        began = clock()

        def tell(passed_ns: int, total_ns: int) -> None:
            simulated = passed_ns / 1e9
            speed = simulated / max(clock() - began, 1e-6)
            said = f"{duration_text(simulated)} of {duration_text(total_ns / 1e9)} · {speed:,.0f}x real time"
            bar.update(task, completed=passed_ns / total_ns, description=said)

        yield tell
