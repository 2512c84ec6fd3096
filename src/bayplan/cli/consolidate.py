"""`bayplan consolidate`: which nodes can be given back?"""

from __future__ import annotations

import shlex
import sys

import click

from bayplan.analysis.answers.moving.defrag import SECONDS
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.input_notes import note_missing_budgets
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, script_option, seconds_option
from bayplan.cli.progress import progress_line
from bayplan.report.answers.consolidate import consolidation_parts, drain_script
from bayplan.report.json_output import answer_document


@click.command(
    "consolidate",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 at least one node can be given back; 1 none was found; 2 bad input or usage.",
)
@click.option("-l", "--selector", default="", metavar="LABELS", help="Only nodes with these labels, such as pool=a.")
@click.option("--max-nodes", type=click.IntRange(1), help="Give back no more nodes than this.")
@click.option("--max-moves", type=click.IntRange(0), help="Move no more pods than this.")
@seconds_option("more nodes, and for a proof that there are none", SECONDS)
@script_option
@details_option
@answer_options()
def command(
    asked: AnswerOptions,
    selector: str,
    max_nodes: int | None,
    max_moves: int | None,
    seconds: float | None,
    script: bool,
) -> int:
    """Find the nodes that can be given back: as many as possible, with every pod running elsewhere.

    Nothing is actually drained. A solver picks nodes; they are then drained as kubectl drain does, within disruption
    budgets, and the scheduler's own code decides where each pod goes. Nothing is preempted, and nodes with bare pods,
    pods of Jobs or pods that a budget protects are kept.
    """
    cluster = asked.cluster()
    note_missing_budgets(cluster)
    with progress_line() as tell:
        answer = cluster.consolidate(
            selector=selector,
            max_nodes=max_nodes,
            max_moves=max_moves,
            seconds=seconds,
            tell=tell,
            **asked.settings(),
        )
    if script:
        sys.stdout.write(drain_script(answer))
    else:
        options = [("-l", selector), ("--max-nodes", max_nodes), ("--max-moves", max_moves), ("--seconds", seconds)]
        given = [f"{name} {shlex.quote(str(value))}" for name, value in options if value not in (None, "")]
        write_answer(
            asked,
            "Consolidate",
            consolidation_parts(answer, " ".join(["bayplan consolidate", *given])),
            answer_document("consolidation", cluster.kubernetes_version, answer.to_dict()),
        )
    return EXIT_YES if answer.nodes else EXIT_NO
