"""What the commands that answer questions share: where the cluster comes from, and how an answer is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypedDict

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.memory import keep_memory
from bayplan.cli.input_notes import note_input
from bayplan.cli.options import (
    Callback,
    config_option,
    feature_gates_option,
    files_option,
    foreign_victims_option,
    namespace_option,
    note_extenders,
    note_skipped,
)
from bayplan.cli.sources import live_options, read_sources, source_arguments
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.model.reading import ReadResult, read
from bayplan.report.answers.html import html
from bayplan.report.answers.markdown import markdown
from bayplan.report.answers.parts import Next, Part
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.json_output import write_json
from bayplan.report.terminal import show

FORMATS = ("table", "json", "markdown", "html")


class Settings(TypedDict):
    """What a method of `Cluster` that answers a question takes besides the question."""

    config: str | None
    feature_gates: str
    foreign_victims: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that all these commands have."""

    files: tuple[str, ...]
    kubeconfig: str | None
    context: str | None
    namespace: str
    output: str
    config: str | None
    feature_gates: str
    foreign_victims: str | None
    details: bool = False

    def cluster(self) -> Cluster:
        """From files, a live cluster, or both. What was left out is noted."""
        keep_memory()
        cluster = Cluster.of(read_sources(self.files, self.kubeconfig, self.context))
        note_input(cluster)
        note_extenders(self.config, self.feature_gates, how_to_ask="use explain or place with --call-extenders")
        return cluster

    def settings(self) -> Settings:
        return Settings(config=self.config, feature_gates=self.feature_gates, foreign_victims=self.foreign_victims)


def read_noting(files: Sequence[str]) -> list[ReadResult]:
    """Files that go on top of the cluster; what is of no use in them is noted."""
    if not files:
        return []
    given = read(files)
    note_skipped(given.skipped)
    return [given]


def format_option(*more_formats: str) -> Callable[[Callback], Callback]:
    """`-o`, for a command whose answer is made of parts."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([*FORMATS, *more_formats]),
        default=FORMATS[0],
        show_default=True,
        help="Output format.",
    )


details_option = click.option("--details", is_flag=True, help="Show everything, not just the short answer.")


def answer_options(*more_formats: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """`-f` and all the others, given to the command as one `asked`."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def command(
            files: tuple[str, ...],
            kubeconfig: str | None,
            context: str | None,
            namespace: str,
            output: str,
            config: str | None,
            feature_gates: str,
            foreign_victims: str | None,
            details: bool = False,
            **own: Any,
        ) -> int:
            asked = Asked(
                files, kubeconfig, context, namespace, output, config, feature_gates, foreign_victims, details
            )
            return function(asked, **own)

        made: Callable[..., int] = command
        for option in (
            format_option(*more_formats),
            namespace_option,
            foreign_victims_option(UPSTREAM.foreign_victims),
            feature_gates_option,
            config_option,
            live_options,
            files_option,
        ):
            made = option(made)
        return made

    return decorate


def write_answer(asked: Asked, title: str, parts: Iterable[Part], document: Mapping[str, Any]) -> None:
    """The answer on standard output, in the format that was asked for."""
    source = source_arguments(asked.files, asked.kubeconfig, asked.context)
    write_as(asked.output, title, with_source(parts, source), document, details=asked.details)


def with_source(parts: Iterable[Part], source: str) -> Iterator[Part]:
    """The parts, with next commands that read the cluster from where this one did."""
    for part in parts:
        yield Next(f"{part.command} {source}") if isinstance(part, Next) and part.reads_cluster else part


def write_as(
    output: str, title: str, parts: Iterable[Part], document: Mapping[str, Any], *, details: bool = True
) -> None:
    """The parts on standard output; for programs the document, which says the same. Pages have all details."""
    if output == "json":
        write_json(document, sys.stdout)
    elif output == "markdown":
        sys.stdout.write(markdown(title, parts))
    elif output == "html":
        sys.stdout.write(html(title, parts))
    else:
        show(terminal_parts(parts, details=details), sys.stdout)
