"""`bayplan audit`: what is wrong with a cluster before it hurts?"""

from __future__ import annotations

import os
import sys

import click

from bayplan.analysis.answers.audit.rules import RULES, Level
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, write_answer
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles
from bayplan.cli.progress import progress_line
from bayplan.model.reading import lines_in
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.sarif import FORMAT, sarif
from bayplan.report.json_output import answer_document, write_json


@click.command(
    "audit",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 no finding of the --fail-on level or worse; 1 there is one; 2 bad input or usage.",
)
@details_option
@answer_options(FORMAT)
@click.option(
    "--fail-on",
    type=click.Choice([level.value for level in Level]),
    default=Level.ERROR.value,
    show_default=True,
    help="Exit with code 1 if there is a finding of this level or worse.",
)
@click.option(
    "--ignore",
    "ignored",
    type=click.Choice(list(RULES)),
    metavar="RULE",
    multiple=True,
    help=f"Rule to skip: {', '.join(RULES)}. Can be repeated.",
)
def command(asked: AnswerOptions, fail_on: str, ignored: tuple[str, ...]) -> int:
    """Find problems before they hurt: PriorityClasses, requests, budgets, constraints that no node can meet.

    Whatever can be tried is tried: whether all pods fit elsewhere if a node fails (for every node), whether each
    workload could run in the empty cluster, and which pods the pending ones would evict.
    """
    cluster = asked.cluster()
    with progress_line() as tell:
        answer = cluster.audit(ignored=ignored, processes=os.cpu_count() or 1, tell=tell, **asked.settings())
    if asked.output == FORMAT:
        lines = lines_in(dict.fromkeys(finding.source for finding in answer.findings if finding.source))
        write_json(sarif(answer, lines), sys.stdout)
    else:
        write_answer(
            asked, "Audit", audit_parts(answer), answer_document("audit", cluster.kubernetes_version, answer.to_dict())
        )
    return EXIT_NO if answer.reaches(Level(fail_on)) else EXIT_YES
