"""`bayplan plan`: which nodes of a catalog hold these pods for the least money?"""

from __future__ import annotations

from dataclasses import replace

import click

from bayplan.analysis.answers.planning.plan import NODE, SECONDS, ZONE
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, seconds_option
from bayplan.cli.progress import progress_line
from bayplan.report.answers.plan import plan_parts
from bayplan.report.json_output import answer_document


@click.command(
    "plan",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 there are such nodes, or none are needed; 1 none were found; 2 bad input or usage.",
)
@click.option(
    "--pods",
    metavar="FILES",
    multiple=True,
    help="Files or directories with pods and workloads, and what they need. Default: the pending pods of the cluster.",
)
@click.option(
    "--nodes",
    "catalog",
    metavar="FILE",
    required=True,
    help="The catalog: a list of node types with name, capacity and price, and if need be labels, taints, zones, max.",
)
@click.option("--survive", type=click.Choice([NODE, ZONE]), help="Also without any one new node, or without any zone.")
@seconds_option("cheaper nodes", SECONDS)
@details_option
@answer_options()
def command(
    asked: AnswerOptions, pods: tuple[str, ...], catalog: str, survive: str | None, seconds: float | None
) -> int:
    """Find the cheapest nodes of a catalog that hold pods, with a proven lower bound for the price.

    The pods come from --pods, on top of a cluster (-f, --kubeconfig) if there is one, whose nodes are used as well. A
    solver proposes nodes; the scheduler's own code then places every pod on them.
    """
    # Pods alone are planned for without a cluster.
    asked = replace(asked, source=replace(asked.source, files=(*asked.source.files, *pods)))
    cluster = asked.cluster()
    with progress_line() as tell:
        answer = cluster.plan(catalog, survive=survive or "", seconds=seconds, tell=tell, **asked.settings())
    write_answer(
        asked, "Plan", plan_parts(answer), answer_document("plan", cluster.kubernetes_version, answer.to_dict())
    )
    return EXIT_YES if answer.works else EXIT_NO
