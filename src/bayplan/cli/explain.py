"""`bayplan explain`: where does this pod fit, why not elsewhere, and which pods would it preempt?"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.explanation import PodExplanation
from bayplan.cli.answering import details_option, format_option, with_source, write_as
from bayplan.cli.input_notes import note_input
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    CommandWithFiles,
    call_extenders_option,
    config_option,
    feature_gates_option,
    files_option,
    foreign_victims_option,
    namespace_option,
    note,
    note_extenders,
)
from bayplan.cli.sources import live_options, read_sources, source_arguments
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.report.explain.explanation import DEFAULT_TOP, explanation_parts, remarks
from bayplan.report.explain.node_drawing import nodes_to_draw
from bayplan.report.explain.page import explanation_page


@click.command(
    "explain",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 the pod fits on a node; 1 it does not fit now, even if preemption would help; "
    "2 bad input or usage.",
)
@click.argument("pod")
@files_option
@live_options
@config_option
@call_extenders_option
@feature_gates_option
@foreign_victims_option(UPSTREAM.foreign_victims)
@namespace_option
@format_option()
@details_option
@click.option("--all-nodes", is_flag=True, help="Show every node instead of the best ones and groups.")
@click.option(
    "--all-reasons", is_flag=True, help="Run every filter on every node and list all failures, not just the first."
)
@click.option(
    "--top", type=click.IntRange(min=1), default=DEFAULT_TOP, show_default=True, help="Number of best nodes to show."
)
@click.option(
    "--optimal", is_flag=True, help="Also work out the least disruption that any choice of victims could cause."
)
def command(
    pod: str,
    files: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    config: str | None,
    call_extenders: bool,
    feature_gates: str,
    foreign_victims: str | None,
    namespace: str,
    output: str,
    details: bool,
    all_nodes: bool,
    all_reasons: bool,
    top: int,
    optimal: bool,
) -> int:
    """Explain where POD fits, why not elsewhere, and which pods it would preempt.

    POD is NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME (deployment/web, prod/sts/db), which means the
    first of its pending pods, or the next pod it would create. A running pod is treated as if it were pending.
    """
    cluster = Cluster.of(read_sources(files, kubeconfig, context))
    note_input(cluster)
    why = cluster.explain(
        pod,
        config,
        namespace=namespace,
        feature_gates=feature_gates,
        foreign_victims=foreign_victims,
        call_extenders=call_extenders,
    )
    if not call_extenders:
        note_extenders(config, feature_gates)
    document = why.document(all_reasons=all_reasons)
    if optimal:
        least = cluster.least_disruption(
            pod, config, namespace=namespace, feature_gates=feature_gates, foreign_victims=foreign_victims
        )
        document["leastDisruption"] = least.to_dict()
    if output == "json":
        for remark in remarks(document):
            note(remark)
    if output == "html":
        sys.stdout.write(_page(why, document))
    else:
        parts = explanation_parts(document, top=top, all_nodes=all_nodes)
        source = source_arguments(files, kubeconfig, context)
        shows_all = details or all_nodes or all_reasons or top != DEFAULT_TOP
        write_as(output, f"bayplan explain {pod}", with_source(parts, source), document, details=shows_all)
    return EXIT_YES if why.fits else EXIT_NO


def _page(why: PodExplanation, document: Mapping[str, Any]) -> str:
    resources = list(dict.fromkeys([CPU_NAME, MEMORY_NAME, *document["pod"]["requests"]]))
    return explanation_page(document, why.occupancies(nodes_to_draw(document), resources), resources)
