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

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.design import design, read_sampling
from bayplan.analysis.sweeping.preparing import Base, Preparation
from bayplan.analysis.sweeping.runs import do_run
from bayplan.analysis.sweeping.sweeping import Engine, engine_named
from bayplan.model.kinds import Object
from bayplan.testing import builders as make

NODES = 100
PODS = 2000
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


def descendants() -> float:
    """Processor seconds of all processes that this one has started, and that they have."""
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
    total = 0.0
    for pid, seconds in used.items():
        ancestor = pid
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        total += seconds if ancestor == os.getpid() and pid != os.getpid() else 0.0
    return total


def spent() -> float:
    """Processor seconds of this process and of all it has started, whether they have ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + descendants()


def alone(prepared: Preparation) -> float:
    """Processor seconds of all runs, without any engine."""
    began = spent()
    for place, name in enumerate(prepared.names):
        do_run(prepared.story, name, prepared.spec_at(place))
    return spent() - began


def by(engine: Engine, prepared: Preparation) -> float:
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
        import_module("ray").init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        engines["ray"] = engine_named("ray")
    prepared = story(arguments.runs)
    alone(story(1))
    for engine in engines.values():
        by(engine, story(WARM_UP))
    used: dict[str, float] = dict.fromkeys(("alone", *engines), 0.0)
    for _ in range(arguments.rounds):  # in turns, as other work on the machine slows all of them down
        used["alone"] += alone(prepared)
        for name, engine in engines.items():
            used[name] += by(engine, prepared)
    runs = arguments.runs * arguments.rounds
    for name, seconds in used.items():
        print(f"{name:6} {seconds / runs:6.3f} s for each of {runs} runs, {seconds / used['alone'] - 1:+.1%}")


if __name__ == "__main__":
    main()
