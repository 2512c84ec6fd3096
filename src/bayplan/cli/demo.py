"""`bayplan demo`: a story on a small built-in cluster. Pods arrive and are placed, one is explained, and then an urgent
pod needs room that others take.

The cluster is YAML in `demo_data`, as a user would write it; `--write` exports it to try the commands on. Everything is
computed as for any other cluster: nothing of what is shown is written down here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.reading import read
from bayplan.report.explanation import explanation_parts
from bayplan.report.nodes import node_table
from bayplan.report.placement import placement_parts
from bayplan.report.terminal import Part, Verbatim, chapter, sentence, show

FILES = ("cluster.yaml", "arrivals.yaml", "urgent.yaml")
NEXT_POD, URGENT_POD = "shop/deployment/web", "shop/fraud-check"
_DEFAULT_FOLDER = "demo-cluster"


@click.command("demo")
@click.option("--write", "folder", metavar="DIR", help="Write the demo's YAML files there, to try the commands on.")
def command(folder: str | None) -> None:
    """Watch a small built-in cluster place, explain and preempt. Ends by itself, in seconds."""
    if folder:
        write_files(Path(folder))
    show(story(), sys.stdout)
    show(next_steps(folder), sys.stdout)


def story() -> Iterator[Part]:
    """Three acts."""
    before = Cluster(objects_of("cluster.yaml", "arrivals.yaml"))
    yield sentence("bayplan decides as the Kubernetes scheduler does, and says why. Here is a small cluster.")
    yield chapter("1 · Six nodes: one keeps its GPUs for those who ask, one is closed for maintenance")
    yield node_table(before.build_cache().view())

    yield chapter("2 · Pods arrive: two more replicas of the web shop, a nightly job, and one that asks for 12 CPUs")
    placement = before.place()
    yield from placement_parts(placement)

    yield chapter(f"3 · Why there? bayplan explain {NEXT_POD}")
    yield from explanation_parts(before.explain(NEXT_POD))

    after = before.after(placement)
    yield chapter("4 · An urgent pod arrives, and the cluster is full")
    yield sentence("shop/fraud-check is of class critical and needs 4 CPUs on one node. This is what is taken now:")
    yield node_table(after.build_cache().view())
    yield chapter(f"5 · Who must make room? bayplan explain {URGENT_POD}")
    full = Cluster([*after.objects, *objects_of("urgent.yaml")])
    yield from explanation_parts(full.explain(URGENT_POD))


def next_steps(folder: str | None) -> Iterator[Part]:
    """Commands that work as they stand."""
    where = folder or _DEFAULT_FOLDER
    steps = {
        "The same question, asked of files": f"bayplan explain {URGENT_POD} -f {where}",
        "All that stands in the way of a pod": f"bayplan explain dev/trainer-xl -f {where} --all-reasons",
        "All that waits, for programs": f"bayplan place -f {where} -o json",
        "Your own cluster": "kubectl get nodes,pods,pdb,priorityclasses -A -o json | bayplan place -f -",
    }
    if folder is None:
        steps = {"Get the files of this cluster": f"bayplan demo --write {where}", **steps}
    yield chapter("What to try next")
    for why, line in steps.items():
        yield sentence(f"  # {why}", "dim")
        yield Verbatim(f"  {line}")


def objects_of(*names: str) -> list[Object]:
    """What is in some of the demo's files."""
    with ExitStack() as stack:
        return read([stack.enter_context(as_file(_data(name))) for name in names]).objects


def write_files(folder: Path) -> None:
    """Export the files; what is there already is left alone, and a fault if it differs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = _data(name).read_text(encoding="utf-8")
        target = folder / name
        if not target.exists():
            target.write_text(text, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != text:
            raise InvalidObject([Fault(str(target), "", "", "exists already and is not of this demo")])


def _data(name: str) -> Traversable:
    return files("bayplan.cli") / "demo_data" / name
