"""`bayplan explain`: where does this pod fit, why not elsewhere, and which pods would it preempt?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.explanation import PodExplanation
from bayplan.analysis.references import group_named, workload_named
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.completing import complete_pod
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import (
    GROUPS_ON,
    CommandWithFiles,
    all_namespaces_option,
    call_extenders_option,
    knows_groups,
    note,
    note_extenders,
    require_groups,
    selector_option,
)
from bayplan.cli.output import NAMES
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.pod import group_key
from bayplan.report.answers.groups import group_parts, workload_parts
from bayplan.report.answers.pending import pending_parts
from bayplan.report.explain.explanation import DEFAULT_TOP, explanation_parts, remarks
from bayplan.report.explain.node_drawing import nodes_to_draw
from bayplan.report.explain.page import explanation_page
from bayplan.report.json_output import answer_document


@click.command(
    "explain",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 the pod fits on a node; 1 it does not fit now, even if preemption would help; "
    "2 bad input or usage.",
)
@click.argument("pod", required=False, shell_complete=complete_pod)
@answer_options(NAMES)
@call_extenders_option
@all_namespaces_option
@selector_option
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
    asked: AnswerOptions,
    pod: str | None,
    selector: str,
    call_extenders: bool,
    all_nodes: bool,
    all_reasons: bool,
    top: int,
    optimal: bool,
) -> int:
    """Explain where POD fits, why not elsewhere, and which pods it would preempt.

    POD is NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME (deployment/web, prod/sts/db), which means the
    first of its pending pods, or the next pod it would create. A running pod is treated as if it were pending.
    [NAMESPACE/]podgroup/NAME means all pods of a PodGroup together, workload/NAME those of each PodGroup of a Workload
    (Kubernetes 1.37, gate GenericWorkload).
    Without POD, lists the pending pods, with the reason of each.
    """
    cluster = asked.cluster(calls_extenders=True)
    if pod is not None and (group := group_named(pod, asked.namespace)):
        return _explain_group(asked, cluster, group)
    if pod is not None and (workload := workload_named(pod, asked.namespace)):
        return _explain_workload(asked, cluster, workload)
    if not call_extenders:
        note_extenders(asked.config, asked.feature_gates, cluster.release)
    if pod is None:
        return _list(asked, cluster, selector)
    if selector or asked.source.all_namespaces:
        raise click.UsageError("-l and -A list pods, and cannot be combined with POD.")
    has_groups = knows_groups(asked.config, asked.feature_gates, cluster.release)
    if group := group_key(cluster.wanted(pod, asked.namespace).pod):
        if has_groups:
            note(f"the pod belongs to the pod group {group}, which is tried as a whole")
            return _explain_group(asked, cluster, group)
        note(
            f"the pod belongs to the pod group {group}; pod groups are off, so it is explained as if it were alone. "
            f"To explain the group: bayplan explain podgroup/{group.partition('/')[2]} {GROUPS_ON}"
        )
    why = cluster.explain(pod, namespace=asked.namespace, call_extenders=call_extenders, **asked.settings())
    document = why.document(all_reasons=all_reasons)
    if optimal:
        if has_groups:
            raise click.UsageError("--optimal does not know what is evicted as a whole: leave out GenericWorkload")
        least = cluster.least_disruption(pod, namespace=asked.namespace, **asked.settings())
        document["leastDisruption"] = least.to_dict()
    if asked.output in ("json", "yaml"):
        for remark in remarks(document):
            note(remark)
    shows_all = asked.details or all_nodes or all_reasons or top != DEFAULT_TOP
    write_answer(
        replace(asked, details=shows_all),
        f"bayplan explain {pod}",
        explanation_parts(document, top=top, all_nodes=all_nodes),
        answer_document("explanation", cluster.kubernetes_version, document),
        names=(f"node/{node}" for node in document["feasible"]),
        page=partial(_page, why, document),
    )
    return EXIT_YES if why.fits else EXIT_NO


def _explain_workload(asked: AnswerOptions, cluster: Cluster, workload: str) -> int:
    require_groups(asked.config, asked.feature_gates, cluster.release, f"workload/{workload}")
    why = cluster.explain_workload(workload, asked.config, feature_gates=asked.feature_gates)
    document = why.document()
    write_answer(
        asked,
        f"bayplan explain workload/{workload}",
        workload_parts(document),
        answer_document("workload explanation", cluster.kubernetes_version, document),
        names=(f"podgroup/{group.key}" for group in why.groups),
    )
    return EXIT_YES if why.fits else EXIT_NO


def _explain_group(asked: AnswerOptions, cluster: Cluster, group: str) -> int:
    require_groups(asked.config, asked.feature_gates, cluster.release, f"podgroup/{group}")
    why = cluster.explain_group(group, asked.config, feature_gates=asked.feature_gates)
    document = why.document()
    write_answer(
        asked,
        f"bayplan explain podgroup/{group}",
        group_parts(document),
        answer_document("group explanation", cluster.kubernetes_version, document),
        names=(f"node/{node}" for node in dict.fromkeys(document["fitting"].values())),
    )
    return EXIT_YES if why.fits else EXIT_NO


def _list(asked: AnswerOptions, cluster: Cluster, selector: str) -> int:
    answer = cluster.pending(asked.source.listed_namespace, selector, **asked.settings())
    write_answer(
        asked,
        "Pending pods",
        pending_parts(answer),
        answer_document("pending pods", cluster.kubernetes_version, answer.to_dict()),
        names=(f"pod/{name}" for name in answer.names),
    )
    return EXIT_NO if answer.groups else EXIT_YES


def _page(why: PodExplanation, document: Mapping[str, Any]) -> str:
    resources = list(dict.fromkeys([CPU_NAME, MEMORY_NAME, *document["pod"]["requests"]]))
    return explanation_page(document, why.occupancies(nodes_to_draw(document), resources), resources)
