"""Ctrl-C during a run: heeded between two steps, so that no ledger is left with half a row.

The first interrupt is noted for the run to look at; a second one means now, and is raised as ever. Where somebody else
handles interrupts already, or outside the main thread, nothing is changed.
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
    def heeded(self) -> Iterator[None]:
        """While this lasts, an interrupt is noted instead of raised."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self.note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
