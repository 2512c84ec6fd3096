"""`bayplan place`: where do the pending pods go, one after another, and who must make room?"""

from __future__ import annotations

import sys
from collections import defaultdict

import click

from bayplan.analysis.cluster import Cluster, PodQueue
from bayplan.analysis.memory import keep_memory
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    check_ties,
    config_option,
    files_option,
    namespace_option,
    note,
    note_skipped,
    output_option,
)
from bayplan.report.json_output import write_json
from bayplan.report.placement import placement_parts
from bayplan.report.terminal import show
from bayplan.report.words import counted, listed

_EXAMPLES = 3


@click.command(
    "place",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 every pod was placed; 1 some pod stays unplaced; 2 bad input or usage.",
)
@click.argument("pods", nargs=-1)
@files_option
@config_option
@namespace_option
@click.option(
    "--ties",
    default="name",
    show_default=True,
    metavar="name|seed:N",
    callback=check_ties,
    help="Of equally good nodes take the smallest name, or draw one by a seed.",
)
@output_option
def command(
    pods: tuple[str, ...], files: tuple[str, ...], config: str | None, namespace: str, ties: str, output: str
) -> int:
    """Place the pending pods now, one after another, evicting where it must be.

    Takes all pending pods, those that workloads would create among them, or just PODS (named as for explain; a workload
    stands for all pods it lacks). They go in the scheduler's order: by priority, then as they stand in the files. Pods
    that are evicted vanish at once, and are not placed again.
    """
    keep_memory()
    cluster = Cluster.load(*files)
    note_skipped(cluster.skipped)
    queue = cluster.queue(config, pods or None, namespace)
    _note_left_out(queue)
    placement = cluster.place(queue.keys, config, ties)
    if output == "json":
        write_json(placement.to_dict(), sys.stdout)
    else:
        show(placement_parts(placement), sys.stdout)
    # Who names a pod wants to know whether it gets a node; one that is held back does not.
    unplaced = any(decision.node is None for decision in placement.decisions) or (pods and queue.gated)
    return EXIT_NO if unplaced else EXIT_YES


def _note_left_out(queue: PodQueue) -> None:
    for reason, keys in _by_value(queue.gated).items():
        note(f"left out {_some(keys)}: {reason}")
    for scheduler, keys in _by_value(queue.foreign).items():
        note(f"left out {_some(keys)}: no profile for scheduler {scheduler!r}")


def _by_value(left_out: dict[str, str]) -> dict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in left_out.items():
        groups[value].append(key)
    return groups


def _some(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{counted(len(keys), 'pod')} ({listed(keys, _EXAMPLES)})"
