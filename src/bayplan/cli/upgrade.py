"""`bayplan upgrade`: what does another version of Kubernetes change?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from bayplan.analysis.answers.upgrading.upgrade import DifferenceKind, Upgrade
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.memory import keep_memory
from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.running import simulate
from bayplan.cli.answering import AnswerOptions, answer_options, details_option, with_source
from bayplan.cli.input_notes import note_input
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, check_gates, note
from bayplan.cli.output import write_parts
from bayplan.cli.output_files import check_file
from bayplan.cli.progress import progress_line
from bayplan.cli.simulation_traces import given_trace, trace_options
from bayplan.config.releases import NEWEST_RELEASE, RELEASES, KubernetesRelease, UnknownReleaseError, release_named
from bayplan.model.reading import lines_in, source_of
from bayplan.report.answers.parts import Heading, Part
from bayplan.report.answers.sarif import FORMAT
from bayplan.report.answers.upgrade import upgrade_parts
from bayplan.report.answers.upgrade_sarif import pod_name, upgrade_sarif
from bayplan.report.comparison.parts import comparison_parts
from bayplan.report.json_output import tagged, write_json

_CONFIG = "config"


def _release(ctx: click.Context, parameter: click.Parameter, value: str) -> KubernetesRelease:
    try:
        return release_named(value)
    except UnknownReleaseError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error


@click.command(
    "upgrade",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 nothing of what --fail-on names happens; 1 it does; 2 bad input or usage.",
)
@click.option(
    "--to",
    metavar="VERSION",
    default=NEWEST_RELEASE.version,
    show_default=True,
    callback=_release,
    help=f"The version to go to, newer or older: {' or '.join(RELEASES)}.",
)
@click.option(
    "--rules",
    metavar="FILE",
    multiple=True,
    help="Prometheus rules or Grafana dashboards, whose metrics are checked. Can be repeated.",
)
@click.option("--timeline", metavar="FILE", help="Also simulate these changes under both versions, and compare.")
@click.option("--until", metavar="DURATION", help="How long to simulate, such as 24h.")
@click.option(
    "--fail-on",
    type=click.Choice([*(kind.value for kind in DifferenceKind), _CONFIG]),
    multiple=True,
    help="Exit with code 1 if a pod gets another node (or none), other victims or another message, or if a setting is "
    "refused. Can be repeated.",
)
@trace_options
@details_option
@answer_options(FORMAT)
def command(
    asked: AnswerOptions,
    to: KubernetesRelease,
    rules: tuple[str, ...],
    timeline: str | None,
    until: str | None,
    fail_on: tuple[str, ...],
    **trace: Any,
) -> int:
    """Find out what another version of Kubernetes changes, before the cluster is upgraded.

    The schedulers of both versions decide on every pending pod, and on every running one as if it were new, each
    alone in the cluster as it is. For each difference the answer names the change that causes it; that is found by
    deciding again with single changes. Settings that are refused and metrics that are renamed are listed, too.
    """
    check_file("--report", asked.report)
    keep_memory()
    played = given_trace(**trace)
    cluster = _cluster(asked, to)
    with progress_line() as tell:
        answer = cluster.upgrade(to.version, rules=rules, tell=tell, **asked.settings())
    if asked.output == FORMAT:
        write_json(_sarif(answer, cluster), sys.stdout)
        return EXIT_NO if _fails(answer, fail_on) else EXIT_YES
    document, parts = answer.to_dict(), list(upgrade_parts(answer))
    if answer.is_compared and (timeline or played):
        runs = [
            simulate(
                cluster.under(release),
                timeline or (),
                trace=played,
                until=until,
                config=asked.config,
                feature_gates=gates,
            )
            for release, gates in ((cluster.release, asked.feature_gates), (to, _gates_left(asked, answer)))
        ]
        compared = compare(*runs, names=[f"v{answer.before}", f"v{answer.after}"])
        document["simulation"] = msgspec.to_builtins(compared.comparison)
        parts += _simulation_parts(compared)
    title = f"Upgrade from v{answer.before} to v{answer.after}"
    write_parts(
        title,
        with_source(parts, asked.source.arguments()),
        tagged("upgrade", document),
        output=asked.output,
        report=asked.report,
        details=asked.details,
    )
    return EXIT_NO if _fails(answer, fail_on) else EXIT_YES


def _sarif(answer: Upgrade, cluster: Cluster) -> dict[str, Any]:
    names = (pod_name(each) for each in answer.differences)
    files = {name: source_of(name, cluster.sources) for name in names}
    lines = lines_in(dict.fromkeys(file for file in files.values() if file))
    return upgrade_sarif(answer, files.__getitem__, lines)


def _cluster(asked: AnswerOptions, to: KubernetesRelease) -> Cluster:
    """Under the version that it has."""
    given = Cluster.of(asked.source.read(), asked.kubernetes_version)
    cluster = given.upgraded_from(to)
    check_gates(asked.feature_gates, cluster.release)
    if given.version_is_assumed:
        before = cluster.kubernetes_version
        note(f"nothing says which version the cluster has: v{before} is compared (--kubernetes-version)")
    elif given.version_note:
        note(given.version_note)
    note_input(cluster)
    return cluster


def _gates_left(asked: AnswerOptions, answer: Upgrade) -> str:
    """The settings that the other version takes."""
    refused = {each.setting.removeprefix("--feature-gates ") for each in answer.refused}
    parts = asked.feature_gates.split(",")
    return ",".join(part for part in parts if part.partition("=")[0].strip() not in refused)


def _simulation_parts(compared: ComparedRuns) -> Iterator[Part]:
    yield Heading("Over time, simulated under both versions")
    yield from comparison_parts(compared.comparison)


def _fails(answer: Upgrade, fail_on: tuple[str, ...]) -> bool:
    return any(answer.refused if each == _CONFIG else answer.of_kind(DifferenceKind(each)) for each in fail_on)
