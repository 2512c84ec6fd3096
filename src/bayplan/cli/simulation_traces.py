"""`--trace` and the options that say how a trace is played. They are for nothing without one, which is then told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bayplan.analysis.simulation.inputs.traces import REPEAT_MAX, Trace, load_trace

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--trace", "spec", metavar="SPEC", help="Pods to come: openb:DIR, csv:FILE or azure:FILE."),
    click.option(
        "--shrink",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        help="Keep this share of the trace's arrivals.",
    ),
    click.option(
        "--stretch",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        help="Multiply the trace's times by this.",
    ),
    click.option("--repeat", type=click.IntRange(1, REPEAT_MAX), default=1, help="Play the trace so often."),
    click.option("--no-departures", is_flag=True, help="Pods of the trace never end."),
    click.option("--trace-nodes", type=click.IntRange(0), metavar="N", help="Take so many of the trace's nodes."),
)


def trace_options(function: CommandT) -> CommandT:
    """The options; their values go to `given_trace`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def given_trace(options: Mapping[str, Any]) -> Trace | None:
    """The trace that was asked for. Raises InvalidObject."""
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
