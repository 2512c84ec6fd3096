"""`--trace` and the options for playing a trace. Without a trace these options are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bayplan.analysis.simulation.inputs.traces import REPEAT_MAX, Trace, load_trace

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--trace", "spec", metavar="SPEC", help="Trace of arriving pods: openb:DIR, csv:FILE or azure:FILE."),
    click.option("--shrink", type=click.FloatRange(0, 1, min_open=True), default=1.0,
                 help="Fraction of the trace's arrivals to keep."),
    click.option("--stretch", type=click.FloatRange(0, min_open=True), default=1.0,
                 help="Factor to multiply the trace's times by."),
    click.option("--repeat", type=click.IntRange(1, REPEAT_MAX), metavar="N", default=1,
                 help="Play the trace N times."),
    click.option("--no-departures", is_flag=True, help="Let the trace's pods run forever."),
    click.option("--trace-nodes", type=click.IntRange(0), metavar="N", help="Use N of the trace's nodes."),
)  # fmt: skip


def trace_options(function: CommandT) -> CommandT:
    """The options; their values go to `given_trace`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def given_trace(options: Mapping[str, Any]) -> Trace | None:
    """The requested trace, if any. Raises InvalidObject."""
    if options["spec"] is None:
        _refuse_idle_options(options)
        return None
    return load_trace(
        options["spec"],
        shrink=options["shrink"],
        stretch=options["stretch"],
        repeat=options["repeat"],
        departures=not options["no_departures"],
        nodes=options["trace_nodes"],
    )


def _refuse_idle_options(options: Mapping[str, Any]) -> None:
    context = click.get_current_context()
    for name in options:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"Option '--{name.replace('_', '-')}' needs '--trace'.")
