"""What the commands that answer questions share: where the cluster comes from, and how an answer is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypedDict

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.memory import keep_memory
from bayplan.cli.input_notes import note_input
from bayplan.cli.options import (
    check_gates,
    config_option,
    feature_gates_option,
    files_option,
    foreign_victims_option,
    kubernetes_version_option,
    namespace_option,
    note_extenders,
    note_skipped,
    report_option,
)
from bayplan.cli.output import format_option, write_parts
from bayplan.cli.output_files import check_file
from bayplan.cli.sources import Source, live_options
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.model.reading import ReadResult, read
from bayplan.report.answers.parts import Next, Part
from bayplan.worlds.driving import rare_collections


class QuestionSettings(TypedDict):
    """What a method of `Cluster` that answers a question takes besides the question."""

    config: str | None
    feature_gates: str
    foreign_victims: str | None


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """The options that all these commands have."""

    source: Source
    output: str
    report: str | None
    config: str | None
    feature_gates: str
    foreign_victims: str | None
    details: bool = False
    kubernetes_version: str | None = None

    @property
    def namespace(self) -> str:
        return self.source.namespace

    def cluster(self, *, calls_extenders: bool = False) -> Cluster:
        """From files, a live cluster, or both. What was left out is noted."""
        check_file("--report", self.report)
        keep_memory()
        cluster = Cluster.of(self.source.read(), self.kubernetes_version)
        check_gates(self.feature_gates, cluster.release, with_groups=True)  # the option knows for which commands
        note_input(cluster)
        if not calls_extenders:
            how_to_ask = "use explain or place with --call-extenders"
            note_extenders(self.config, self.feature_gates, cluster.release, how_to_ask=how_to_ask)
        return cluster

    def source_arguments(self) -> str:
        """The options that name the same cluster and its gates again, for a command to run next."""
        version = f"--kubernetes-version {self.kubernetes_version}" if self.kubernetes_version else ""
        gates = f"--feature-gates {self.feature_gates}" if self.feature_gates else ""
        return " ".join(filter(None, (self.source.arguments(), version, gates)))

    def settings(self) -> QuestionSettings:
        return QuestionSettings(
            config=self.config, feature_gates=self.feature_gates, foreign_victims=self.foreign_victims
        )


def read_noting(files: Sequence[str]) -> list[ReadResult]:
    """Files that go on top of the cluster; what is of no use in them is noted."""
    if not files:
        return []
    given = read(files)
    note_skipped(given.skipped)
    return [given]


details_option = click.option("--details", is_flag=True, help="Show everything, not just the short answer.")


def answer_options(*more_formats: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """`-f` and all the others, given to the command as one `asked`."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def command(
            files: tuple[str, ...],
            kubeconfig: str | None,
            context: str | None,
            namespace: str | None,
            output: str,
            report: str | None,
            config: str | None,
            feature_gates: str,
            foreign_victims: str | None,
            kubernetes_version: str | None,
            details: bool = False,
            all_namespaces: bool = False,
            **own: Any,
        ) -> int:
            source = Source(files, kubeconfig, context, namespace, all_namespaces)
            asked = AnswerOptions(
                source, output, report, config, feature_gates, foreign_victims, details, kubernetes_version
            )
            with rare_collections():
                return function(asked, **own)

        made: Callable[..., int] = command
        for option in (
            report_option,
            format_option(*more_formats),
            namespace_option,
            foreign_victims_option(UPSTREAM.foreign_victims),
            feature_gates_option,
            kubernetes_version_option,
            config_option,
            live_options,
            files_option,
        ):
            made = option(made)
        return made

    return decorate


def write_answer(
    asked: AnswerOptions,
    title: str,
    parts: Iterable[Part],
    document: Mapping[str, Any],
    *,
    names: Iterable[str] = (),
    page: Callable[[], str] | None = None,
) -> None:
    """As `write_parts`, with the options that the command was given."""
    write_parts(
        title,
        with_source(parts, asked.source_arguments()),
        document,
        output=asked.output,
        report=asked.report,
        details=asked.details,
        names=names,
        page=page,
    )


def with_source(parts: Iterable[Part], source: str) -> Iterator[Part]:
    """The parts, with next commands that read the cluster from where this one did."""
    for part in parts:
        if isinstance(part, Next) and part.reads_cluster and source:
            yield Next(f"{part.command} {source}")
        else:
            yield part
