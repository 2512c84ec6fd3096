"""`bayplan` with a record of its garbage collections, for benchmarks that look at a process from outside.

    python benchmarks/watched_process.py FILE up --nodes 5 …

Runs the command in this process. Each collection adds a line to the file: its generation and how long it took, in
nanoseconds of wall time and of processor time. On a machine with other work only the latter says much.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any, Literal

from bayplan.cli.main import main


class Recorder:
    """Writes a line for each collection."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._began = (0, 0)

    def __call__(self, phase: Literal["start", "stop"], info: dict[str, int]) -> Any:
        now = time.perf_counter_ns(), time.thread_time_ns()
        if phase == "start":
            self._began = now
        else:
            self._file.write(f"{info['generation']} {now[0] - self._began[0]} {now[1] - self._began[1]}\n")


if __name__ == "__main__":
    gc.callbacks.append(Recorder(Path(sys.argv.pop(1))))
    sys.argv[0] = "bayplan"
    main()
