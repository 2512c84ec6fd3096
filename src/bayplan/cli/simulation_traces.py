"""`--trace` and the options for playing a trace. Without a trace these options are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bayplan.analysis.simulation.inputs.traces import FORMS, REPEAT_MAX, Trace, load_trace

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
