"""`bayplan capacity`: how many more pods of a kind fit, where, and what runs out first?"""

from __future__ import annotations

from typing import TypedDict

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_capacity import GroupCapacity
from bayplan.analysis.references import group_named
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, refuse_groups, require_groups
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.group_capacity import group_capacity_parts
from bayplan.report.json_output import answer_document


@click.command(
    "capacity",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 they fit (without --replicas: at least one does); 1 they do not; 2 bad input or usage.",
)
@details_option
@answer_options()
@click.option(
    "--pod",
    "pods",
    metavar="SPEC[=N]",
    multiple=True,
    help="The pods to count: a file with one pod or workload, or requests such as cpu=500m,memory=1Gi. "
    "Several kinds are counted together, in sets of N each (default: 1).",
)
@click.option(
    "--workload",
    "workloads",
    metavar="KIND/NAME[=N]",
    multiple=True,
    help="Count more pods of a workload in the cluster, or more like one of its pods.",
)
@click.option(
    "--gang",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Count whole gangs of N of the --pod, each placed at once or not at all (needs pod groups).",
)
@click.option("--within", metavar="LABEL", help="With --gang: each gang on nodes with one value of this label.")
@click.option(
    "--replicas",
    type=click.IntRange(1, 1_000_000),
    help="Check whether this many fit (of several kinds: this many sets; of groups: whole ones) and, if not, how many "
    "nodes it would take (not of groups).",
)
@click.option(
    "--node",
    "nodes",
    metavar="KIND",
    multiple=True,
    help="With --replicas: the kind of node to add, 8cpu,32Gi or a file with nodes. Default: existing kinds.",
)
@click.option(
    "--by",
    "pool_labels",
    metavar="LABEL",
    multiple=True,
    help="Node label that makes a pool. Can be repeated. Default: instance type and taints.",
)
@click.option("--no-evictions", is_flag=True, help="Skip the second count, with pods of lower priority evicted.")
def command(
    asked: AnswerOptions,
    pods: tuple[str, ...],
    workloads: tuple[str, ...],
    gang: int | None,
    within: str | None,
    replicas: int | None,
    nodes: tuple[str, ...],
    pool_labels: tuple[str, ...],
    no_evictions: bool,
) -> int:
    """Count how many more pods fit: pool by pool, what runs out first, and what evictions would add.

    -f is the cluster; the pods to count come from --pod or --workload. They are placed one after another, as the
    scheduler would. Currently pending pods are not placed first, and scheduling gates are ignored.
    --workload podgroup/NAME counts whole pod groups, --gang those that nobody has created yet (Kubernetes 1.37, gate
    GenericWorkload).
    """
    if not pods and not workloads:
        raise click.UsageError("Missing option '--pod' or '--workload': there is nothing to count.")
    if within and gang is None:
        raise click.UsageError("'--within' needs '--gang'.")
    groups = [group for text in workloads if (group := group_named(text, asked.namespace))]
    if groups or gang is not None:
        if nodes or pool_labels or len(pods) + len(workloads) > 1 or (groups and gang is not None):
            raise click.UsageError("Groups are counted one kind at a time, without '--node' and '--by'.")
        if gang is not None and not pods:
            raise click.UsageError("'--gang' needs '--pod'.")
        how = GroupCounting(wanted=replicas or 1, evicting=not no_evictions)
        if gang is None:
            return _count_groups(asked, how, groups[0])
        return _count_gangs(asked, how, pods[0], gang, within or "")
    if nodes and replicas is None:
        raise click.UsageError("'--node' needs '--replicas'.")
    cluster = asked.cluster()
    refuse_groups(asked.feature_gates, cluster.release)
    answer = cluster.capacity(
        pods,
        workloads,
        namespace=asked.namespace,
        replicas=replicas,
        nodes=nodes,
        evicting=not no_evictions,
        pool_labels=pool_labels,
        **asked.settings(),
    )
    write_answer(
        asked,
        "Capacity",
        capacity_parts(answer),
        answer_document("capacity", cluster.kubernetes_version, answer.to_dict()),
    )
    return EXIT_YES if answer.is_enough else EXIT_NO


class GroupCounting(TypedDict):
    """How groups are counted."""

    wanted: int
    evicting: bool


def _count_groups(asked: AnswerOptions, how: GroupCounting, group: str) -> int:
    cluster = asked.cluster()
    require_groups(asked.config, asked.feature_gates, cluster.release, f"podgroup/{group}")
    return _write_groups(asked, cluster, cluster.group_capacity(group, **how, **asked.settings()))


def _count_gangs(asked: AnswerOptions, how: GroupCounting, pod: str, size: int, within: str) -> int:
    cluster = asked.cluster()
    require_groups(asked.config, asked.feature_gates, cluster.release, "gangs")
    settings = asked.settings()
    answer = cluster.gang_capacity(pod, size, within, namespace=asked.namespace, **how, **settings)
    return _write_groups(asked, cluster, answer)


def _write_groups(asked: AnswerOptions, cluster: Cluster, answer: GroupCapacity) -> int:
    document = answer.to_dict()
    write_answer(
        asked,
        "Capacity",
        group_capacity_parts(document),
        answer_document("group capacity", cluster.kubernetes_version, document),
    )
    return EXIT_YES if answer.is_enough else EXIT_NO
