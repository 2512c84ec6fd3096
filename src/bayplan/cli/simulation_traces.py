"""`--trace` and `--recording`, and the options for playing one. Without them these options are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from bayplan.analysis.simulation.inputs.traces import FORMS, REPEAT_MAX, Trace, load_trace
from bayplan.analysis.simulation.replaying.recorded_life import RecordedLife, load_recording

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

#: Named as the parameters of `load_trace`.
_OPTIONS = (
    click.option("--trace", "spec", metavar="SPEC", help=f"Trace of arriving pods: {FORMS}."),
    click.option("--shrink", type=click.FloatRange(0, 1, min_open=True), default=1.0,
                 help="Fraction of the trace's arrivals to keep."),
    click.option("--stretch", type=click.FloatRange(0, min_open=True), default=1.0,
                 help="Factor to multiply the trace's times by."),
    click.option("--repeat", type=click.IntRange(1, REPEAT_MAX), metavar="N", default=1,
                 help="Play the trace N times."),
    click.option("--no-departures", "departures", flag_value=False, default=True,
                 help="Let the trace's pods run forever."),
    click.option("--trace-nodes", "nodes", type=click.IntRange(0), metavar="N", help="Use N of the trace's nodes."),
)  # fmt: skip


def trace_options(function: CommandT) -> CommandT:
    """The options; their values are for `given_trace`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def recording_options(function: CommandT) -> CommandT:
    """`--recording`, whose value is for `given_recording`."""
    recording = click.option(
        "--recording",
        metavar="FILE|DIR",
        help="Recording of a cluster (bayplan record): what users and machines did is done again, the rest decided "
        "anew.",
    )
    nodes = click.option(
        "--no-recorded-nodes",
        "recorded_nodes",
        flag_value=False,
        default=True,
        help="Leave the recording's nodes out: use those of -f and --nodes.",
    )
    return recording(nodes(function))


class Brought(NamedTuple):
    """What is played, and brings objects of its own."""

    trace: Trace | None
    recorded: RecordedLife | None


def given_to_play(*, recording: str | None, recorded_nodes: bool, **options: Any) -> Brought:
    """The requested trace and recording, if any. Raises InvalidObject."""
    if recording is None and not recorded_nodes:
        raise click.UsageError("Option '--no-recorded-nodes' needs '--recording'.")
    recorded = None if recording is None else load_recording(recording, nodes=recorded_nodes)
    return Brought(given_trace(**options), recorded)


def given_trace(spec: str | None, **options: Any) -> Trace | None:
    """The requested trace, if any. Raises InvalidObject."""
    if spec is not None:
        return load_trace(spec, **options)
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in options:
            raise click.UsageError(f"Option '{parameter.opts[0]}' needs '--trace'.")
    return None
