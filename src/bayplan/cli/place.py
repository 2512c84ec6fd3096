"""`bayplan place`: where do the pending pods go, one by one, and which pods do they preempt?"""

from __future__ import annotations

from collections import defaultdict

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import PodQueue
from bayplan.analysis.label_selection import selected_by
from bayplan.cli.answering import AnswerOptions, answer_options, write_answer
from bayplan.cli.completing import complete_pod
from bayplan.cli.input_notes import note_idle
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    all_namespaces_option,
    call_extenders_option,
    check_ties,
    note,
    note_extenders,
    selector_option,
)
from bayplan.cli.output import NAMES
from bayplan.report.answers.placement import placement_parts
from bayplan.report.json_output import answer_document
from bayplan.report.words import counted, listed

_EXAMPLES = 3


@click.command(
    "place",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 every pod was placed; 1 some pods were not placed; 2 bad input or usage.",
)
@click.argument("pods", nargs=-1, shell_complete=complete_pod)
@answer_options(NAMES)
@call_extenders_option
@all_namespaces_option
@selector_option
@click.option(
    "--ties",
    default="name",
    show_default=True,
    metavar="name|seed:N",
    callback=check_ties,
    help="Break ties between nodes by name, or randomly with a seed.",
)
@click.option("--gated", is_flag=True, help="Place gated pods as if their gates were removed.")
def command(
    asked: AnswerOptions, pods: tuple[str, ...], selector: str, call_extenders: bool, ties: str, gated: bool
) -> int:
    """Place the pending pods one by one, evicting only where necessary.

    Takes all pending pods, including those that workloads would create, or only PODS (named as for explain; a workload
    means all its missing pods). The order is the scheduler's: by priority, then by position in the files. Evicted pods
    are gone at once and are not placed again.
    """
    if pods and (selector or asked.source.all_namespaces):
        raise click.UsageError("-l and -A list pods, and cannot be combined with PODS.")
    cluster = asked.cluster(calls_extenders=True)
    queue = _queue(asked, cluster, pods, selector, gated=gated)
    _note_left_out(queue)
    if not pods:
        note_idle(cluster)
    if not call_extenders:
        note_extenders(asked.config, asked.feature_gates, cluster.release)
    placement = cluster.place(queue.keys, ties=ties, gated=gated, call_extenders=call_extenders, **asked.settings())
    placed = [decision for decision in placement.decisions if decision.node is not None]
    write_answer(
        asked,
        "Placement",
        placement_parts(placement),
        answer_document("placement", cluster.kubernetes_version, placement.to_dict()),
        names=(f"pod/{decision.pod}" for decision in placed),
    )
    # A user who names a pod asks whether it gets a node; a gated pod does not.
    unplaced = len(placed) < len(placement.decisions) or (pods and queue.gated)
    return EXIT_NO if unplaced else EXIT_YES


def _queue(asked: AnswerOptions, cluster: Cluster, pods: tuple[str, ...], selector: str, *, gated: bool) -> PodQueue:
    """The pods that are named, or those of the namespace with these labels."""
    queue = cluster.queue(asked.config, pods or None, asked.namespace, gated=gated, feature_gates=asked.feature_gates)
    namespace, selects = asked.source.listed_namespace, selected_by(selector)
    if pods or not (namespace or selector):
        return queue

    def is_listed(key: str) -> bool:
        meta = cluster.find_pod(key).metadata
        return namespace in ("", meta.namespace) and selects(meta.labels)

    return PodQueue(
        list(filter(is_listed, queue.keys)),
        {key: reason for key, reason in queue.gated.items() if is_listed(key)},
        {key: scheduler for key, scheduler in queue.foreign.items() if is_listed(key)},
    )


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
