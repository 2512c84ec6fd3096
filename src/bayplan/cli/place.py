"""`bayplan place`: where do the pending pods go, one by one, and which pods do they preempt?"""

from __future__ import annotations

import sys
from collections import defaultdict

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import PodQueue
from bayplan.analysis.memory import keep_memory
from bayplan.cli.input_notes import note_idle, note_input
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    call_extenders_option,
    check_ties,
    config_option,
    feature_gates_option,
    files_option,
    foreign_victims_option,
    namespace_option,
    note,
    note_extenders,
    output_option,
)
from bayplan.cli.sources import live_options, read_sources
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.report.json_output import write_json
from bayplan.report.placement import placement_parts
from bayplan.report.terminal import show
from bayplan.report.words import counted, listed

_EXAMPLES = 3


@click.command(
    "place",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 every pod was placed; 1 some pods were not placed; 2 bad input or usage.",
)
@click.argument("pods", nargs=-1)
@files_option
@live_options
@config_option
@call_extenders_option
@feature_gates_option
@foreign_victims_option(UPSTREAM.foreign_victims)
@namespace_option
@click.option(
    "--ties",
    default="name",
    show_default=True,
    metavar="name|seed:N",
    callback=check_ties,
    help="Break ties between nodes by name, or randomly with a seed.",
)
@click.option("--gated", is_flag=True, help="Place gated pods as if their gates were removed.")
@output_option
def command(
    pods: tuple[str, ...],
    files: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    config: str | None,
    call_extenders: bool,
    feature_gates: str,
    foreign_victims: str | None,
    namespace: str,
    ties: str,
    gated: bool,
    output: str,
) -> int:
    """Place the pending pods one by one, evicting only where necessary.

    Takes all pending pods, including those that workloads would create, or only PODS (named as for explain; a workload
    means all its missing pods). The order is the scheduler's: by priority, then by position in the files. Evicted pods
    are gone at once and are not placed again.
    """
    keep_memory()
    cluster = Cluster.of(read_sources(files, kubeconfig, context))
    note_input(cluster)
    queue = cluster.queue(config, pods or None, namespace, gated=gated, feature_gates=feature_gates)
    _note_left_out(queue)
    if not pods:
        note_idle(cluster)
    if not call_extenders:
        note_extenders(config, feature_gates)
    placement = cluster.place(
        queue.keys,
        config,
        ties,
        gated=gated,
        feature_gates=feature_gates,
        foreign_victims=foreign_victims,
        call_extenders=call_extenders,
    )
    if output == "json":
        write_json(placement.to_dict(), sys.stdout)
    else:
        show(placement_parts(placement), sys.stdout)
    # A user who names a pod asks whether it gets a node; a gated pod does not.
    unplaced = any(decision.node is None for decision in placement.decisions) or (pods and queue.gated)
    return EXIT_NO if unplaced else EXIT_YES


def _note_left_out(queue: PodQueue) -> None:
    for reason, keys in _by_value(queue.gated).items():
        note(f"skipped {_some(keys)}: {reason}")
    for scheduler, keys in _by_value(queue.foreign).items():
        note(f"skipped {_some(keys)}: no profile for scheduler {scheduler!r}")


def _by_value(left_out: dict[str, str]) -> dict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in left_out.items():
        groups[value].append(key)
    return groups


def _some(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{counted(len(keys), 'pod')} ({listed(keys, _EXAMPLES)})"
