"""Flags of kube-scheduler that `bayplan run` has no use for, and how all flags read on `/flagz`.

A flag that could change nothing here is taken and has no effect. One that asks for something that is not there is
refused with a message that says what to use instead, unless it has its default value. The others are in `run_options`;
docs/guide/flags.md lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import click

from bayplan import __version__
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.model.durations import Duration, format_duration

F = TypeVar("F", bound=Callable[..., Any])

_KEPT = "bayplan.cli.upstream_flags"  # in the context: values of flags that nobody else gets


@dataclass(frozen=True, slots=True)
class UnusedFlag:
    """A flag whose value is looked at only to be shown, or to be refused."""

    name: str
    default: str  # as kube-scheduler shows it
    why: str
    is_refused: bool = False

    @property
    def is_switch(self) -> bool:
        return self.default in ("true", "false")


UNUSED_FLAGS: Final = (
    UnusedFlag("disable-http2-serving", "false", "HTTP/1.1 is served."),
    UnusedFlag("http2-max-streams-per-connection", "0", "HTTP/1.1 is served."),
    UnusedFlag("permit-address-sharing", "false", "Addresses are always shared (SO_REUSEADDR)."),
    UnusedFlag("kube-api-content-type", "application/vnd.kubernetes.protobuf", "JSON is used."),
    UnusedFlag("profiling", "true", "There is no /debug/pprof; see /debug/decisions."),
    UnusedFlag("contention-profiling", "true", "There is no /debug/pprof."),
    UnusedFlag("show-hidden-metrics-for-version", "", "No metric is hidden."),
    UnusedFlag("min-compatibility-version", "[]", "Nothing here depends on it."),
    UnusedFlag("log-flush-frequency", "5s", "Every line is written at once."),
    UnusedFlag("log-json-info-buffer-size", "0", "Every line is written at once."),
    UnusedFlag("log-text-info-buffer-size", "0", "Every line is written at once."),
    UnusedFlag("log-json-split-stream", "false", "the whole log goes to standard error", is_refused=True),
    UnusedFlag("log-text-split-stream", "false", "the whole log goes to standard error", is_refused=True),
    UnusedFlag("vmodule", "", "there are no Go files to name; use -v", is_refused=True),
    UnusedFlag(
        "tls-curve-preferences", "[]", "curves cannot be chosen; use --tls-min-version=VersionTLS13", is_refused=True
    ),
    UnusedFlag(
        "tls-sni-cert-key",
        "[]",
        "there is only one certificate; use --tls-cert-file with one that covers all names",
        is_refused=True,
    ),
    UnusedFlag(
        "allow-metric-labels", "[]", "use metric_relabel_configs of Prometheus, or --disabled-metrics", is_refused=True
    ),
    UnusedFlag(
        "allow-metric-labels-manifest",
        "",
        "use metric_relabel_configs of Prometheus, or --disabled-metrics",
        is_refused=True,
    ),
)

#: What kube-scheduler shows of flags that nobody gave, where `bayplan run` leaves it to the configuration.
_SHOWN_DEFAULTS: Final = {
    "kube-api-burst": "100",
    "kube-api-qps": "50",
    "leader-elect": "true",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "kube-scheduler",
    "leader-elect-resource-namespace": "kube-system",
    "leader-elect-retry-period": "2s",
}


def unused_flags(function: F) -> F:
    """Gives a command those flags, whose values it never sees."""
    for flag in reversed(UNUSED_FLAGS):
        function = click.option(
            f"--{flag.name}",
            default=flag.default,
            expose_value=False,
            callback=partial(_take, flag),
            hidden=flag.is_refused,
            help=f"Has no effect. {flag.why}",
        )(function)
    return function


def _take(flag: UnusedFlag, ctx: click.Context, _parameter: click.Parameter, value: str) -> None:
    if flag.is_refused and value not in (flag.default, ""):
        raise click.UsageError(f"--{flag.name} is not supported: {flag.why}")
    ctx.meta.setdefault(_KEPT, {})[flag.name] = value


def version_option(function: F) -> F:
    """`--version`, as kube-scheduler has it."""

    def show(ctx: click.Context, _parameter: click.Parameter, value: str) -> None:
        ctx.meta.setdefault(_KEPT, {})["version"] = value
        if value not in ("true", "raw", "false"):
            raise click.UsageError(f"--version={value}: expected true, false or raw")
        if value != "false" and not ctx.resilient_parsing:
            click.echo(f"Kubernetes v{NEWEST_RELEASE.version} (bayplan {__version__})")
            ctx.exit()

    return click.option(
        "--version",
        is_flag=False,
        flag_value="true",
        default="false",
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show the version and exit.",
    )(function)


def flag_values(ctx: click.Context) -> dict[str, str]:
    """Every flag by its name, with its value as Go writes it."""
    kept = ctx.meta.get(_KEPT, {})
    values = {"help": "false"}
    for parameter in ctx.command.params:
        name = max(parameter.opts, key=len).removeprefix("--")
        value = kept[name] if name in kept else ctx.params[str(parameter.name)]
        values[name] = _SHOWN_DEFAULTS.get(name, "") if value is None else _written(value)
    return values


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{','.join(value)}]"
    if isinstance(value, Duration):
        return format_duration(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
