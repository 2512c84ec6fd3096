"""`bayplan fix`: which changes would let this pending pod run?"""

from __future__ import annotations

import click

from bayplan.analysis.references import group_named
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.completing import complete_pod
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, require_groups
from bayplan.cli.progress import progress_line
from bayplan.report.answers.fix import fix_parts
from bayplan.report.json_output import answer_document


@click.command(
    "fix",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 there is a fix, or the pod needs none; 1 no fix was found; 2 bad input or usage.",
)
@click.argument("pod", shell_complete=complete_pod)
@details_option
@answer_options()
def command(asked: AnswerOptions, pod: str) -> int:
    """Find the smallest changes that would let POD run, each one verified, with kubectl commands.

    POD is NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME (deployment/web), which means its pending pods,
    or one more if there are none. Single changes are tried first; if few of them work, pairs of changes as well. Each
    is played to its end in a copy of the cluster: the workload is rolled out, evicted pods are placed again, and its
    pending pods that run then are counted. [NAMESPACE/]podgroup/NAME means a PodGroup (Kubernetes 1.37, gate
    GenericWorkload): enough of its pods have to run together.
    """
    cluster = asked.cluster()
    if group := group_named(pod, asked.namespace):
        require_groups(asked.config, asked.feature_gates, cluster.release, f"podgroup/{group}")
    with progress_line() as tell:
        answer = cluster.fix(pod, namespace=asked.namespace, tell=tell, **asked.settings())
    write_answer(
        asked,
        f"Fix for {answer.pod}",
        fix_parts(answer),
        answer_document("fix", cluster.kubernetes_version, answer.to_dict()),
    )
    return EXIT_YES if answer.is_fine or answer.fixes else EXIT_NO
