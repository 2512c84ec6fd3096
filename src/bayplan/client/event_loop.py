"""The event loop that a client runs on: uvloop's where it is installed, as it takes half the time, else asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - may be missing
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def run_event_loop(main: Coroutine[Any, Any, T]) -> T:
    """Runs until `main` returns, as asyncio.run does."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
