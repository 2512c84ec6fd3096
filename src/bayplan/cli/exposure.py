"""`bayplan exposure`: what could evict this pod, and which workloads are most exposed?"""

from __future__ import annotations

import click

from bayplan.analysis.references import group_named
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, read_noting, write_answer
from bayplan.cli.completing import complete_pod
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, all_namespaces_option, require_groups
from bayplan.report.answers.exposure import exposure_parts, ranking_parts
from bayplan.report.json_output import answer_document

_TOP = 20


@click.command(
    "exposure",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 answered; 1 a pod of --against evicts one of the pods; 2 bad input or usage.",
)
@click.argument("pod", required=False, shell_complete=complete_pod)
@details_option
@answer_options()
@all_namespaces_option
@click.option(
    "--against",
    metavar="FILE",
    multiple=True,
    help="Check whether the pods and workloads in this file would evict it, each on its own. Can be repeated.",
)
@click.option(
    "--class", "priority_class", metavar="NAME", default="", help="Without a pod: only workloads of this PriorityClass."
)
@click.option("--top", type=click.IntRange(min=1), default=_TOP, show_default=True, help="Number of workloads to rank.")
def command(asked: AnswerOptions, pod: str | None, against: tuple[str, ...], priority_class: str, top: int) -> int:
    """Find out what could evict POD: which priority and which request it takes.

    POD is NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME (deployment/web), which means all its running
    pods; [NAMESPACE/]podgroup/NAME means those of a PodGroup (Kubernetes 1.37, gate GenericWorkload). Without it,
    workloads (of a namespace with -n, of a PriorityClass with --class) are ranked by how easily one of their pods is
    evicted, and the most exposed one of each priority is named. The preemptor is assumed to need the pod's node;
    what it would do if it could run anywhere is reported as well.
    """
    if pod is not None and asked.source.all_namespaces:
        raise click.UsageError("-A lists workloads, and cannot be combined with POD.")
    if pod is None:
        if against:
            raise click.UsageError("--against needs a pod or a workload.")
        cluster = asked.cluster()
        ranking = cluster.exposure_ranking(
            top=top, namespace=asked.source.listed_namespace, priority_class=priority_class, **asked.settings()
        )
        write_answer(
            asked,
            "Exposure",
            ranking_parts(ranking),
            answer_document("exposure ranking", cluster.kubernetes_version, ranking.to_dict()),
        )
        return EXIT_YES
    if priority_class:
        raise click.UsageError("--class cannot be combined with a pod.")
    cluster = asked.cluster()
    if group := group_named(pod, asked.namespace):
        require_groups(asked.config, asked.feature_gates, cluster.release, f"podgroup/{group}")
    answer = cluster.exposure(pod, namespace=asked.namespace, against=read_noting(against), **asked.settings())
    write_answer(
        asked,
        f"Exposure of {answer.subject}",
        exposure_parts(answer),
        answer_document("exposure", cluster.kubernetes_version, answer.to_dict()),
    )
    return EXIT_NO if answer.is_evicted else EXIT_YES
