"""`bayplan drain`: would everything on these nodes fit elsewhere, and is it allowed to leave?"""

from __future__ import annotations

import click

from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.completing import complete_node
from bayplan.cli.input_notes import note_missing_budgets
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles
from bayplan.report.answers.drain import drain_parts
from bayplan.report.json_output import answer_document


@click.command(
    "drain",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 the nodes can be drained, and every pod gets a node; 1 they cannot; 2 bad input or usage.",
)
@click.argument("nodes", nargs=-1, shell_complete=complete_node)
@click.option(
    "-l", "--selector", default="", metavar="LABELS", help="Drain all nodes with these labels, such as pool=a."
)
@click.option("--rolling", is_flag=True, help="Drain one node after another; each is back before the next.")
@details_option
@answer_options()
def command(asked: AnswerOptions, nodes: tuple[str, ...], selector: str, rolling: bool) -> int:
    """Find out whether NODES can be drained: which pods go where in which order, and which budgets block it.

    Nothing is actually drained. Pods are evicted as kubectl drain does, their controllers recreate them, and the new
    pods are placed on the remaining nodes, where they may evict pods of lower priority.
    """
    if not nodes and not selector:
        raise click.UsageError("Missing argument 'NODES...' or option '-l' / '--selector': there is nothing to drain.")
    cluster = asked.cluster()
    note_missing_budgets(cluster)
    answer = cluster.drain(nodes, selector=selector, rolling=rolling, **asked.settings())
    write_answer(
        asked, "Drain", drain_parts(answer), answer_document("drain", cluster.kubernetes_version, answer.to_dict())
    )
    return EXIT_YES if answer.works else EXIT_NO
