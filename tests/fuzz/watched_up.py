"""`bayplan up` with a record of everything that kept its event loop busy for long.

    python -m tests.fuzz.watched_up FILE MILLISECONDS up --nodes 5 …

Runs the command in this process. A step of the event loop adds a line of JSON to the file if it took more processor
time of its thread than that: how much, what it was, and the request that was answered last. So does a step that other
threads of the process kept waiting for as much of theirs. Other work on the machine counts for neither.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from bayplan.apiserver.http.application import Application
from bayplan.cli.main import main

_TICK_S = 0.005


class LoopWatch:
    """Looks at the event loop of this process, step by step."""

    def __init__(self, path: Path, limit_ns: int) -> None:
        self._file = path.open("a", buffering=1)
        self._limit_ns = limit_ns
        self._last = ""
        self._ticks = False
        self._before = (0, 0)

    def install(self) -> None:
        handles: Any = asyncio.events.Handle
        run, answer = handles._run, Application.answer

        def watched_run(handle: Any) -> None:
            self._last = ""
            started = time.thread_time_ns()
            if not self._ticks:
                self._ticks = True
                asyncio.get_running_loop().call_soon(self._tick)
            run(handle)
            used = time.thread_time_ns() - started
            if used > self._limit_ns:
                self._note("loop", used, repr(handle)[:300])

        def watched_answer(application: Application, request: Any) -> Any:
            path = "/".join(request.segments)
            self._last = f"{request.method} /{path} {request.query} {request.headers} {request.body[:1500]!r}"[:3000]
            self._last += f" of {len(request.body)} bytes"
            return answer(application, request)

        handles._run = watched_run
        application_class: Any = Application
        application_class.answer = watched_answer

    def _tick(self) -> None:
        """Is due every few milliseconds; if it is late and other threads were at work, these kept it waiting."""
        process, own = time.process_time_ns(), time.thread_time_ns()
        others = (process - self._before[0]) - (own - self._before[1])
        if self._before[0] and others > self._limit_ns:
            self._note("threads", others, "")
        self._before = (process, own)
        asyncio.get_running_loop().call_later(_TICK_S, self._tick)

    def _note(self, where: str, used_ns: int, what: str) -> None:
        entry = {"where": where, "milliseconds": used_ns / 1e6, "step": what, "request": self._last}
        self._file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    file, limit = sys.argv.pop(1), sys.argv.pop(1)
    sys.argv[0] = "bayplan"
    LoopWatch(Path(file), int(float(limit) * 1e6)).install()
    main()
