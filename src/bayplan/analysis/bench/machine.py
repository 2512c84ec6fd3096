"""On what a measurement was made: processor, cores, memory, versions. Unknown facts are left empty."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bayplan import __version__
from bayplan.core.columns import loops

_CPU_FACTS = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts that figures depend on."""

    date: str
    processor: str
    cores: int
    memory_gib: float
    load: float  # processes that wanted a core in the minute before: figures of a busy machine are too low
    system: str
    python: str
    numpy: str
    bayplan: str
    compiled_loops: bool  # whether resource plugins use compiled loops, or array code

    def to_dict(self) -> dict[str, str | int | float]:
        return asdict(self)

    @property
    def software(self) -> str:
        """The versions that matter, for people to read."""
        with_loops = "with" if self.compiled_loops else "without"
        return f"Python {self.python}, NumPy {self.numpy}, {with_loops} compiled loops"


def this_machine() -> HostFacts:
    return HostFacts(
        date=datetime.now(UTC).date().isoformat(),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        load=round(os.getloadavg()[0], 1),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=np.__version__,
        bayplan=__version__,
        compiled_loops=loops.compiled is not None,
    )


def _processor() -> str:
    lines = _CPU_FACTS.read_text().splitlines() if _CPU_FACTS.exists() else []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor())
