"""Ctrl-C during a run: handled between two steps, so that no ledger is left with half a row.

The first interrupt only sets a flag, which the run checks; a second one is raised as usual. If interrupts already have
another handler, or outside the main thread, nothing is changed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether the run has been asked to end."""

    def __init__(self) -> None:
        self.asked = False

    def note(self, signal_number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(signal_number, frame)
        self.asked = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, the first interrupt sets the flag instead of being raised."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self.note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
