"""`bayplan explain`: where can this pod go, why not elsewhere, and who would have to make room?"""

from __future__ import annotations

import sys

import click

from bayplan.analysis.cluster import Cluster
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    config_option,
    files_option,
    namespace_option,
    note,
    note_skipped,
    output_option,
)
from bayplan.report.explain.explanation import DEFAULT_TOP, explanation_parts, remarks
from bayplan.report.json_output import write_json
from bayplan.report.terminal import show


@click.command(
    "explain",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 it fits on some node; 1 it fits on none now, even if evicting pods would make room; "
    "2 bad input or usage.",
)
@click.argument("pod")
@files_option
@config_option
@namespace_option
@output_option
@click.option("--all-nodes", is_flag=True, help="A row for every node instead of the best, and of groups.")
@click.option("--all-reasons", is_flag=True, help="Run every filter on every node: list all that stands in the way.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=DEFAULT_TOP,
    show_default=True,
    help="How many of the best nodes to show.",
)
def command(
    pod: str,
    files: tuple[str, ...],
    config: str | None,
    namespace: str,
    output: str,
    all_nodes: bool,
    all_reasons: bool,
    top: int,
) -> int:
    """Say where POD can go, why not elsewhere, and who would have to make room.

    POD is NAME, NAMESPACE/NAME, or KIND/NAME of a workload (deployment/web, sts/db, NAMESPACE/job/nightly), meaning the
    next pod it would create. A pod that runs already is looked at as if it were pending.
    """
    cluster = Cluster.load(*files)
    note_skipped(cluster.skipped)
    why = cluster.explain(pod, config, namespace=namespace)
    document = why.document(all_reasons=all_reasons)
    if output == "json":
        for remark in remarks(document):
            note(remark)
        write_json(document, sys.stdout)
    else:
        show(explanation_parts(document, top=top, all_nodes=all_nodes), sys.stdout)
    return EXIT_YES if why.fits else EXIT_NO
