"""Values of flags as Go reads them, for options that have kube-scheduler's names.

A number may stand behind an equals sign (`-v=2`), a list is written with commas and grows each time its flag is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from bayplan.config.feature_gates import GO_BOOLEANS
from bayplan.model.durations import Duration, parse_duration

F = TypeVar("F", bound=Callable[..., Any])

_PORT_MAX = 65_535


class GoDuration(click.ParamType[Duration]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Duration:
        try:
            return value if isinstance(value, Duration) else parse_duration(str(value))
        except ValueError as error:
            self.fail(f"{error}; expected a duration such as 15s or 1m30s", param, ctx)


class GoBool(click.ParamType[bool]):
    name = "true|false"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        try:
            return value if isinstance(value, bool) else GO_BOOLEANS[str(value)]
        except KeyError:
            self.fail(f"{value!r}: expected true or false", param, ctx)


class GoInt(click.ParamType[int]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(str(value).removeprefix("="))
        except ValueError:
            self.fail(f"{value!r}: expected a whole number", param, ctx)


class GoPort(GoInt):
    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        port = super().convert(value, param, ctx)
        return port if 0 <= port <= _PORT_MAX else self.fail(f"{port}: expected 0 to {_PORT_MAX}", param, ctx)


def _listed(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """What a flag lists, however often it is given."""
    return tuple(item for value in values for item in value.split(",") if item)


def list_option(name: str, default: Sequence[str], help_text: str, metavar: str = "NAMES") -> Callable[[F], F]:
    return click.option(
        name,
        metavar=metavar,
        default=[",".join(default)],
        multiple=True,
        show_default=bool(default),
        callback=_listed,
        help=help_text,
    )


GO_DURATION, GO_BOOL, GO_INT, PORT = GoDuration(), GoBool(), GoInt(), GoPort()
