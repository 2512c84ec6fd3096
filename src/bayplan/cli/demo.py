"""`bayplan demo`: a story on a small built-in cluster. An urgent pod arrives, bayplan shows which pods it would evict,
and then simulates the hour in which that happens.

The cluster and the story are YAML files in `demo_data`, as a user would write them; `--write` exports them for trying
out the commands, and tells the story only if a report of it is wanted, too. Everything is computed as for any other
cluster; no output is hard-coded.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.input_gaps import DUMP_COMMAND
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import simulate
from bayplan.cli.output_files import check_file
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.reading import read
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.nodes import node_table
from bayplan.report.simulation.parts import simulation_parts
from bayplan.report.terminal import Part, Verbatim, chapter, sentence, show
from bayplan.report.writing import write_report

FILES = ("cluster.yaml", "arrivals.yaml", "urgent.yaml")
STORY = "story.timeline"
URGENT_POD = "shop/fraud-check"
_DEFAULT_FOLDER = "demo-cluster"
_WHAT_HAPPENS = (
    " 5 min  shop/fraud-check arrives",
    "15 min  two cart pods arrive, with a higher priority than the developers' pods",
    "20 min  three checkout pods arrive, of class critical",
    "30 min  node-4 fails",
    "40 min  two more checkout pods arrive",
    "45 min  node-6 is back from maintenance",
    "50 min  node-4 recovers",
)


@click.command("demo", epilog="Exit codes: 0 done; 2 bad usage.")
@click.option(
    "--write", "folder", metavar="DIR", help="Only write the demo's YAML files to DIR, to try out the commands."
)
@click.option("--report", metavar="FILE", help="Where to write the HTML report. Default: the temporary directory.")
def command(folder: str | None, report: str | None) -> None:
    """Watch an hour of preemption on a small built-in cluster. Takes a few seconds."""
    check_file("--report", report)
    if folder:
        write_files(Path(folder))
        show(written_parts(folder), sys.stdout)
    if report or not folder:
        show_story(report)
    show(next_steps(folder), sys.stdout)


def show_story(report: str | None) -> None:
    """All chapters; the last one writes the report."""
    show(before_parts(), sys.stdout)
    result = hour()
    show(hour_parts(result), sys.stdout)
    show(report_parts(result, Path(report) if report else _report_file()), sys.stdout)


def _report_file() -> Path:
    """Each user has one: nobody may replace another user's file in a shared directory."""
    return Path(tempfile.gettempdir()) / f"bayplan-demo-{os.getuid()}.html"


def written_parts(folder: str) -> Iterator[Part]:
    *others, last = (*FILES, STORY)
    yield sentence(f"{folder} has the files of the demo's cluster: {', '.join(others)} and {last}.")


def before_parts() -> Iterator[Part]:
    """The cluster, and what an urgent pod would do to it."""
    yield sentence(
        "bayplan makes the same decisions as the Kubernetes scheduler, and explains them. Here is a small cluster."
    )
    yield chapter("1 · Six nodes, nearly full: one is reserved for GPU workloads, one is cordoned for maintenance")
    yield from terminal_parts([node_table(Cluster(objects_of("cluster.yaml")).build_cache(gates=DEFAULT_GATES).view())])
    yield chapter(f"2 · An urgent pod arrives. Which pods would it evict? bayplan explain {URGENT_POD}")
    yield sentence(f"{URGENT_POD} has priority class critical and needs 4 CPUs.")
    document = Cluster(objects_of("cluster.yaml", "urgent.yaml")).explain(URGENT_POD).document()
    yield from terminal_parts(explanation_parts(document))


def hour() -> SimulationResult:
    """The cluster of the demo, through the story's time."""
    with as_file(_data("")) as folder:
        return simulate(Cluster(objects_of("cluster.yaml")), folder / STORY, until="1h")


def hour_parts(result: SimulationResult) -> Iterator[Part]:
    yield chapter(f"3 · An hour passes: bayplan simulate --timeline {STORY}")
    for line in _WHAT_HAPPENS:
        yield Verbatim(line)
    yield sentence("")
    yield from terminal_parts(simulation_parts(result.run))


def report_parts(result: SimulationResult, path: Path) -> Iterator[Part]:
    """Writes the page and says where it is."""
    yield chapter(
        "4 · The same hour as an HTML report: pods on their nodes over time, and every preemption with its candidates"
    )
    write_report(result, path)
    yield Verbatim(str(path))


def next_steps(folder: str | None) -> Iterator[Part]:
    """Commands to copy and paste."""
    where = folder or _DEFAULT_FOLDER
    steps = {
        "The same question, on files": f"bayplan explain {URGENT_POD} -f {where}",
        "Everything that keeps a pod from being scheduled": f"bayplan explain dev/trainer-xl -f {where} --all-reasons",
        "Place all pending pods, with JSON output": f"bayplan place -f {where} -o json",
        "The same hour, another seed": (
            f"bayplan simulate -f {where}/cluster.yaml --timeline {where}/{STORY} --until 1h --seed 2"
        ),
        "Your own cluster": f"{DUMP_COMMAND} | bayplan place -f -",
    }
    if folder is None:
        steps = {"Get the files of this cluster": f"bayplan demo --write {where}", **steps}
    yield chapter("What to try next")
    for why, line in steps.items():
        yield sentence(f"  # {why}", "dim")
        yield Verbatim(f"  {line}")


def objects_of(*names: str) -> list[Object]:
    """The objects in the demo's files of these names."""
    with ExitStack() as stack:
        return read([stack.enter_context(as_file(_data(name))) for name in names]).objects


def write_files(folder: Path) -> None:
    """Export the files. An existing file is never overwritten; one with other contents is a fault."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*FILES, STORY):
        text = _data(name).read_text(encoding="utf-8")
        target = folder / name
        if not target.exists():
            target.write_text(text, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != text:
            raise InvalidObject([Fault(str(target), "", "", "already exists and is not a file of the demo")])


def _data(name: str) -> Traversable:
    return files("bayplan.cli") / "demo_data" / name
