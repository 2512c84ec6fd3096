"""A line on standard error while a question takes long: what is being done, how far it is, and for how long already.

On a terminal only, and only after a moment, so that quick answers come without a flicker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bayplan.analysis.answers.asking import Tell

#: Seconds before the line appears.
PATIENCE = 1.0
_BAR_WIDTH = 20


@contextmanager
def progress_line() -> Iterator[Tell | None]:
    """A callback for progress; None if there is no terminal. The line disappears at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(_BAR_WIDTH), TimeElapsedColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("working", total=None)

    def tell(what: str, done: int, total: int) -> None:
        said = f"{what}: {done:,} of {total:,}" if total else what
        bar.update(task, completed=done, total=total or None, description=said)

    appearing = Timer(PATIENCE, bar.start)
    appearing.daemon = True
    appearing.start()
    try:
        yield tell
    finally:
        appearing.cancel()
        appearing.join()
        if bar.live.is_started:
            bar.stop()
