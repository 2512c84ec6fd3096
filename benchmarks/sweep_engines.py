"""What an engine of `bayplan sweep` costs on top of its runs, in processor time.

    python benchmarks/sweep_engines.py [--runs 8] [--rounds 3] [--ray]

Runs of about a second are done in this process, and by each engine with two processes, in turns. All that an engine
does counts: this process and all that it has started. Ray's workers have done their first runs before. With `--ray`
also on a new Ray cluster of two CPUs, which needs `bayplan[ray]`.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.design import design, read_sampling
from bayplan.analysis.sweeping.preparing import Base, Preparation
from bayplan.analysis.sweeping.runs import do_run
from bayplan.analysis.sweeping.sweeping import Engine, engine_named
from bayplan.model.kinds import Object
from bayplan.testing import builders as make

Spent = NDArray[np.float64]

NODES = 100
PODS = 3200
#: Runs before anything is counted: workers import, and read the story.
WARM_UP = 4
_TICKS = os.sysconf("SC_CLK_TCK")


def story(runs: int) -> Preparation:
    """Jobs that fill a cluster several times over."""
    jobs = [
        make.job(f"job-{number}")
        .set(parallelism=100, completions=100)
        .template(make.pod("p").cpu("1").annotations({"bayplan/run-seconds": "300"}))
        for number in range(PODS // 100)
    ]
    nodes = [make.node(f"n{number}").capacity(cpu="16", memory="64Gi", pods=110) for number in range(NODES)]
    objects: list[Object] = [*(node.manifest().obj() for node in nodes), *(job.manifest().obj() for job in jobs)]
    cluster = Cluster(objects)
    return Preparation(Base(cluster, until="2h"), design(read_axes({"seed": f"1..{runs}"}), read_sampling("grid")))


def descendants() -> tuple[float, float]:
    """Processor seconds of all processes that this one has started, and that they have; and of Ray's own services."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        used[pid] = sum(map(int, fields[11:15])) / _TICKS  # with those of its own that have ended
    total = services = 0.0
    for pid, seconds in used.items():
        ancestor = pid
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        if ancestor == os.getpid() and pid != os.getpid():
            total += seconds
            services += 0.0 if _is_worker(pid) else seconds
    return total, services


def _is_worker(pid: int) -> bool:
    """A process that does runs, and no service of Ray's."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True
    return command.startswith(b"ray::") or b"/ray/" not in command


def spent() -> Spent:
    """Processor seconds of this process and of all it has started, ended or not; and the part of Ray's services."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total, services = descendants()
    return np.array([time.process_time() + ended.ru_utime + ended.ru_stime + total, services])


def alone(prepared: Preparation) -> Spent:
    """Processor seconds of all runs, without any engine."""
    began = spent()
    for place, name in enumerate(prepared.names):
        do_run(prepared.story, name, prepared.spec_at(place))
    return spent() - began


def by(engine: Engine, prepared: Preparation) -> Spent:
    """Processor seconds of all runs done by an engine."""
    began = spent()
    tasks = [(name, prepared.spec_at(place)) for place, name in enumerate(prepared.names)]
    for outcome in engine.run(prepared.story, tasks):
        assert not outcome.error, outcome.error
    return spent() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", action="store_true")
    arguments = parser.parse_args()
    engines: dict[str, Engine] = {"local": engine_named("local", 2)}
    if arguments.ray:
        os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - as all others are, whose time is compared
        import_module("ray").init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        engines["ray"] = engine_named("ray")
    prepared = story(arguments.runs)
    alone(story(1))
    for engine in engines.values():
        by(engine, story(WARM_UP))
    used = {name: np.zeros(2) for name in ("alone", *engines)}
    for _ in range(arguments.rounds):  # in turns, as other work on the machine slows all of them down
        used["alone"] += alone(prepared)
        for name, engine in engines.items():
            used[name] += by(engine, prepared)
    runs = arguments.runs * arguments.rounds
    least = used["alone"][0] - used["alone"][1]
    for name, (seconds, services) in used.items():
        work = seconds - services
        print(f"{name:6} {work / runs:6.3f} s for each of {runs} runs, {work / least - 1:+.1%}", end="")
        print(f"; {services / runs:.3f} s of Ray's services meanwhile" if services else "")


if __name__ == "__main__":
    main()
