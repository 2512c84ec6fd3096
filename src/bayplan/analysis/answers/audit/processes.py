"""Many independent trials over several processes, each with its own copy of the world they are tried in.

Takes a function that leaves its world as it was, and what to call it with. Processes are forked, so that nothing has to
be built again; where that is not possible, and for trials of few steps, everything happens in this one. Order is kept.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Fewer steps for each process are not worth another process.
STEPS_MIN = 1_000
_CHUNKS_EACH = 8

#: In a forked process: what it was forked for.
_function: Callable[[Any], Any] | None = None


def in_processes(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int, steps: int
) -> Iterator[Result]:
    """The results, in the order of the items; all trials together take about this many steps."""
    global _function  # noqa: PLW0603 - forked processes inherit it; it could not be sent to them
    processes = min(processes, len(items), steps // STEPS_MIN)
    if processes < 2 or sys.platform != "linux":
        yield from map(function, items)
        return
    _function = function
    try:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            yield from pool.imap(_call, items, max(1, len(items) // (processes * _CHUNKS_EACH)))
    finally:
        _function = None


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
