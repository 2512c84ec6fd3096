"""Two checkouts side by side: each decides on the next 50 pods of a workload in turn.

    python benchmarks/lockstep.py ../earlier unique mixed       this checkout beside another one, on two workloads
    python benchmarks/lockstep.py . autoscaled=mixed            one workload of this checkout beside another one
    python benchmarks/lockstep.py . mixed@1.36=mixed@1.37       one Kubernetes version beside another one

A shared machine changes its speed within seconds, by more than most changes of code do: slices in turn see the
same of it. Each checkout has a process of its own, which places pods as `Cluster.place` does; figures are CPU time. The
compiled loops of the other checkout have to be built in place. Says whether all decisions were the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from types import TracebackType

from bayplan.analysis.bench.building import apply_changes, build_cache, changes_before, pods_of
from bayplan.analysis.bench.workloads import WORKLOADS
from bayplan.analysis.memory import keep_memory
from bayplan.analysis.placement import Placer
from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.worlds.driving import rare_collections

NODES = 5_000
PODS_AT_A_TIME = 50
HERE = Path(__file__).resolve().parents[1]


class Side(AbstractContextManager["Side"]):
    """A process that places the next pods when it is told to."""

    def __init__(self, checkout: Path, workload: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        # Its own script, which knows how a cache and profiles are made there.
        command = [sys.executable, str(checkout / "benchmarks" / "lockstep.py"), "--serve", workload]
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.slices = int(self._answer())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("a process has ended")
        return line.strip()

    def next(self) -> tuple[float, str]:
        """CPU seconds, and a digest of all decisions so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("next\n")
        self._process.stdin.flush()
        seconds, digest = self._answer().split()
        return float(seconds), digest


def serve(name: str) -> None:
    """Place pods of the workload, some for each line that is read."""
    keep_memory()
    name, _, version = name.partition("@")
    workload = WORKLOADS[name]
    pods = pods_of(workload, workload.count)
    release = RELEASES[version] if version else DEFAULT_RELEASE
    cache = build_cache(workload, NODES, pods, read_feature_gates(None, release))
    configuration = load_configuration(None, release=release)
    placer = Placer(cache, build_profiles(configuration))
    digest = hashlib.sha256()
    print(len(pods) // PODS_AT_A_TIME, flush=True)
    with rare_collections():
        for first, _ in zip(range(0, len(pods), PODS_AT_A_TIME), sys.stdin, strict=False):
            positions, placed = range(first, first + PODS_AT_A_TIME), []
            changes = [changes_before(workload, NODES, position) for position in positions]
            started = time.process_time()
            for position, changed in zip(positions, changes, strict=True):
                if changed is not None:
                    apply_changes(cache, changed)
                placed.append(placer.place(pods[position]))
            seconds = time.process_time() - started
            for each in placed:
                digest.update(repr((each.node, each.total, each.victims, each.message)).encode())
            print(seconds, digest.hexdigest(), flush=True)


def compare(other: Path, workload: str, other_workload: str) -> str:
    """A row of a table."""
    with Side(HERE, workload) as here, Side(other, other_workload) as there:
        seconds: list[tuple[float, float]] = []
        same = True
        for number in range(min(here.slices, there.slices)):
            # Who comes first has the caches of the one before it to fill again.
            order = (here, there) if number % 2 else (there, here)
            found = {side: side.next() for side in order}
            seconds.append((found[here][0], found[there][0]))
            same = found[here][1] == found[there][1]
    ours, others = (sum(column) for column in zip(*seconds, strict=True))
    middle = median(other_seconds / own for own, other_seconds in seconds)
    decisions = len(seconds) * PODS_AT_A_TIME
    name = workload if workload == other_workload else f"{workload} beside {other_workload}"
    took = f"{ours / decisions * 1e6:6.1f} {others / decisions * 1e6:6.1f} µs"
    return f"{name:24} {others / ours:5.2f} {middle:5.2f}  {took}  {'same' if same else 'other'} decisions"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--serve"]:
        serve(arguments[1])
        return
    if len(arguments) < 2:
        sys.exit(__doc__)
    print("workload, times as fast: by sums, median of slices; CPU time of a decision here and there")
    for named in arguments[1:]:
        workload, _, other_workload = named.partition("=")
        print(compare(Path(arguments[0]).resolve(), workload, other_workload or workload), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
