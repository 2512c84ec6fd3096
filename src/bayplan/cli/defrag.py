"""`bayplan defrag`: which pods have to move so that a large one fits?"""

from __future__ import annotations

import sys

import click

from bayplan.analysis.answers.moving.defrag import SECONDS, SearchLimits
from bayplan.analysis.answers.owners import short_name
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import Reference, group_named
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.input_notes import note_missing_budgets
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    knows_groups,
    note,
    require_groups,
    script_option,
    seconds_option,
)
from bayplan.cli.progress import progress_line
from bayplan.model.pod import group_key
from bayplan.report.answers.defrag import defrag_parts, group_defrag_parts
from bayplan.report.answers.move_script import group_move_script, move_script
from bayplan.report.json_output import answer_document


@click.command(
    "defrag",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 there are such moves, or none are needed; 1 none were found; 2 bad input or usage.",
)
@click.option(
    "--for",
    "wanted",
    metavar="POD|SPEC",
    required=True,
    help="The pod that needs room: a pending pod, [NAMESPACE/]KIND/NAME, a file with one pod or workload, or requests "
    "such as cpu=8,memory=32Gi or nvidia.com/gpu=8. podgroup/NAME: a whole pod group.",
)
@click.option("--max-moves", type=click.IntRange(1, 1000), help="More moves than this are no answer. Default: 50.")
@seconds_option("fewer moves, and for a proof that there are none", SECONDS)
@script_option
@details_option
@answer_options()
def command(asked: AnswerOptions, wanted: str, max_moves: int | None, seconds: float | None, script: bool) -> int:
    """Find the fewest running pods to move so that another pod fits: which ones, in which order, and where each goes.

    Nothing is actually moved. A solver proposes moves; each is then played as a cluster would carry it out: evicted
    within its disruption budgets, recreated by its controller, placed by the scheduler. Bare pods, pods of DaemonSets
    and Jobs, and other pods of the same workload are not moved.
    """
    cluster = asked.cluster()
    note_missing_budgets(cluster)
    if group := _group_in(asked, cluster, wanted):
        return _for_group(asked, cluster, group, SearchLimits.of(max_moves, seconds), script=script)
    with progress_line() as tell:
        answer = cluster.defrag(
            wanted,
            namespace=asked.namespace,
            max_moves=max_moves,
            seconds=seconds,
            tell=tell,
            **asked.settings(),
        )
    if script:
        sys.stdout.write(move_script(answer))
    else:
        write_answer(
            asked,
            f"Room for {answer.pod}",
            defrag_parts(answer),
            answer_document("defrag", cluster.kubernetes_version, answer.to_dict()),
        )
    return EXIT_YES if answer.works else EXIT_NO


def _group_in(asked: AnswerOptions, cluster: Cluster, wanted: str) -> str:
    """namespace/name of the group that is asked about, or that the pod is tried with; "" if there is none."""
    if group := group_named(wanted, asked.namespace):
        require_groups(asked.config, asked.feature_gates, cluster.release, f"podgroup/{group}")
        return group
    pod = cluster.pods.get(wanted if "/" in wanted else f"{asked.namespace}/{wanted}")
    group = group_key(pod) if pod is not None else ""
    if not group or not knows_groups(asked.config, asked.feature_gates, cluster.release):
        return ""
    note(f"the pod belongs to the pod group {group}, which is tried as a whole")
    return group


def _for_group(asked: AnswerOptions, cluster: Cluster, group: str, limits: SearchLimits, *, script: bool) -> int:
    with progress_line() as tell:
        answer = cluster.group_defrag(
            group, max_moves=limits.moves, seconds=limits.seconds, tell=tell, **asked.settings()
        )
    if script:
        sys.stdout.write(group_move_script(answer))
    else:
        name = short_name(Reference("podgroup", *group.split("/")))
        parts = group_defrag_parts(answer, name)
        write_answer(
            asked,
            f"Room for {name}",
            parts,
            answer_document("group defrag", cluster.kubernetes_version, answer.to_dict()),
        )
    return EXIT_YES if answer.works else EXIT_NO
