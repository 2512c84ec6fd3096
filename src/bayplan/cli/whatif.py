"""`bayplan whatif`: which pods get a node, are evicted or stay pending if a change is made?"""

from __future__ import annotations

import click

from bayplan.analysis.answers.gates import KINDS, gates_failed
from bayplan.analysis.gates import parse_gates
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, read_noting, write_answer
from bayplan.cli.completing import complete_node
from bayplan.cli.input_notes import note_missing_budgets
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, fail_on_option
from bayplan.report.answers.whatif import whatif_parts
from bayplan.report.json_output import answer_document


@click.command(
    "whatif",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 done, and the change passes --fail-on; 1 it does not; 2 bad input or usage.",
)
@click.option(
    "--apply",
    "applied",
    metavar="FILES",
    multiple=True,
    help="Files or directories to apply, as kubectl apply would. Can be repeated.",
)
@click.option("--delete", "deleted", metavar="KIND/NAME", multiple=True, help="An object to delete. Can be repeated.")
@click.option(
    "--drain",
    "drained",
    metavar="NODE",
    multiple=True,
    shell_complete=complete_node,
    help="A node to drain. Can be repeated.",
)
@click.option(
    "--add-nodes",
    metavar="TEMPLATE=N",
    multiple=True,
    help="Nodes to add: copies of a node in the cluster or of those in a file, or plain nodes such as 8cpu,32Gi=3.",
)
@fail_on_option(KINDS)
@details_option
@answer_options()
def command(
    asked: AnswerOptions,
    applied: tuple[str, ...],
    deleted: tuple[str, ...],
    drained: tuple[str, ...],
    add_nodes: tuple[str, ...],
    fail_on: tuple[str, ...],
) -> int:
    """Compare the cluster with and without a change: which pods get a node, are evicted, or stay pending.

    Only the effects of the change are shown. Victims are followed: the pods that their controllers recreate are placed
    as well, and may evict others.
    """
    if not (applied or deleted or drained or add_nodes):
        raise click.UsageError("There is no change: use --apply, --delete, --drain or --add-nodes.")
    cluster = asked.cluster()
    if drained:
        note_missing_budgets(cluster)
    gates = parse_gates(fail_on, cluster, KINDS)
    answer = cluster.whatif(
        read_noting(applied),
        delete=deleted,
        drain=drained,
        add_nodes=add_nodes,
        namespace=asked.namespace,
        **asked.settings(),
    )
    failed = gates_failed(answer, gates)
    write_answer(
        asked,
        "What if",
        whatif_parts(answer, failed),
        answer_document("whatif", cluster.kubernetes_version, {**answer.to_dict(), "failed": failed}),
    )
    return EXIT_NO if failed else EXIT_YES
