"""The options of `bayplan run`, under kube-scheduler's names where they mean the same.

Takes the command line; gives `RunOptions`. As in Go, a switch may have a value (`--leader-elect=false`) and a number
may stand behind an equals sign (`-v=2`). Flags that kube-scheduler ignores beside a file are ignored here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from bayplan.cli.options import config_option, feature_gates_option, note
from bayplan.cli.safety_options import safety_given, safety_options
from bayplan.config.feature_gates import GO_BOOLEANS
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.core.preemption.safety import LIVE, UPSTREAM
from bayplan.model.durations import Duration, parse_duration
from bayplan.serving.logs import LogFormat
from bayplan.serving.port_settings import ALWAYS_ALLOWED, TLS_VERSIONS

_PORT_MAX = 65_535

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_SECURE_PORT = 10_259
_SWITCHES = ("--leader-elect", "--profiling", "--contention-profiling", "--shadow")


class RunCommand(click.Command):
    """A command that takes switches as Go does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{arg}=true" if arg in _SWITCHES else arg for arg in args])


class _GoDuration(click.ParamType[Duration]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Duration:
        try:
            return value if isinstance(value, Duration) else parse_duration(str(value))
        except ValueError as error:
            self.fail(f"{error}; expected a duration such as 15s or 1m30s", param, ctx)


class _GoBool(click.ParamType[bool]):
    name = "true|false"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        try:
            return value if isinstance(value, bool) else GO_BOOLEANS[str(value)]
        except KeyError:
            self.fail(f"{value!r}: expected true or false", param, ctx)


class _GoInt(click.ParamType[int]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(str(value).removeprefix("="))
        except ValueError:
            self.fail(f"{value!r}: expected a whole number", param, ctx)


class _Port(_GoInt):
    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        port = super().convert(value, param, ctx)
        return port if 0 <= port <= _PORT_MAX else self.fail(f"{port}: expected 0 to {_PORT_MAX}", param, ctx)


def _listed(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(item for item in value.split(",") if item)


_DURATION, _BOOL, _INT = _GoDuration(), _GoBool(), _GoInt()

_OPTIONS: tuple[Callable[[F], F], ...] = (
    config_option,
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="How to reach the cluster. Default: clientConnection.kubeconfig of the configuration, else as kubectl "
        "($KUBECONFIG, ~/.kube/config), else the service account of the pod this runs in.",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig. Default: its current one."),
    click.option("--master", metavar="URL", help="Address of the API server, instead of the kubeconfig's."),
    feature_gates_option,
    click.option("--write-config-to", metavar="FILE", help="Write the configuration with all defaults, and exit."),
    click.option("--leader-elect", type=_BOOL, help="Decide only while holding a Lease. Default: true."),
    click.option("--leader-elect-lease-duration", type=_DURATION, help="How long a Lease lasts. Default: 15s."),
    click.option("--leader-elect-renew-deadline", type=_DURATION, help="How long to try to renew. Default: 10s."),
    click.option("--leader-elect-retry-period", type=_DURATION, help="Time between attempts. Default: 2s."),
    click.option("--leader-elect-resource-lock", metavar="KIND", help="Only leases."),
    click.option("--leader-elect-resource-name", metavar="NAME", help="Name of the Lease. Default: kube-scheduler."),
    click.option("--leader-elect-resource-namespace", metavar="NAME", help="Its namespace. Default: kube-system."),
    click.option(
        "--secure-port",
        type=_Port(),
        default=DEFAULT_SECURE_PORT,
        show_default=True,
        help="Port for health, metrics and debugging over TLS; 0: none.",
    ),
    click.option("--bind-address", default="0.0.0.0", show_default=True, help="Where that port listens."),
    click.option("--tls-cert-file", metavar="FILE", help="Its certificate. Default: a self-signed one."),
    click.option("--tls-private-key-file", metavar="FILE", help="The certificate's key."),
    click.option(
        "--tls-min-version",
        type=click.Choice([*TLS_VERSIONS]),
        default=next(iter(TLS_VERSIONS)),
        show_default=True,
        help="The lowest version of TLS that is spoken there.",
    ),
    click.option(
        "--tls-cipher-suites",
        metavar="NAMES",
        default="",
        callback=_listed,
        help="What TLS 1.2 may use there, under Go's names. Default: what the library prefers.",
    ),
    click.option("--client-ca-file", metavar="FILE", help="Whose client certificates name a user on that port."),
    click.option(
        "--authorization-always-allow-paths",
        metavar="PATHS",
        default=",".join(ALWAYS_ALLOWED),
        show_default=True,
        callback=_listed,
        help="Paths that need no permission.",
    ),
    click.option("--authentication-kubeconfig", metavar="FILE", help="Whom to ask who callers are (TokenReview)."),
    click.option("--authorization-kubeconfig", metavar="FILE", help="Whom to ask what they may (SubjectAccessReview)."),
    click.option(
        "--pod-max-in-unschedulable-pods-duration",
        type=_DURATION,
        default="5m0s",
        show_default=True,
        help="How long a pod waits for news before it is tried again anyway.",
    ),
    click.option("--kube-api-qps", type=float, help="Requests a second, without --config. Default: 50."),
    click.option("--kube-api-burst", type=_INT, help="Requests at once, without --config. Default: 100."),
    click.option("--kube-api-content-type", metavar="TYPE", help="Has no effect: JSON is spoken.", expose_value=False),
    click.option("--profiling", type=_BOOL, help="Has no effect.", expose_value=False),
    click.option("--contention-profiling", type=_BOOL, help="Has no effect.", expose_value=False),
    click.option(
        "--logging-format",
        type=click.Choice([log_format.value for log_format in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        callback=lambda _context, _parameter, value: LogFormat(value),
        help="How the log is written.",
    ),
    click.option("-v", "--v", "verbosity", type=_INT, default=0, show_default=True, help="How much is logged."),
    safety_options(LIVE),
    click.option(
        "--shadow",
        type=_BOOL,
        default=False,
        help="Write nothing: decide, and compare with what the scheduler of these pods does.",
    ),
    click.option(
        "--shadow-report",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="What the shadow found out, as JSON (.json) or as a page (.html), when it ends.",
    ),
    click.option(
        "--journal",
        metavar="FILE|DIR",
        help="Record what goes in and comes out, for bayplan replay; a directory (DIR/) gets files that rotate.",
    ),
    click.option(
        "--journal-file-size",
        metavar="MB",
        type=click.FloatRange(min=0, min_open=True),
        default=100.0,
        show_default=True,
        help="When a journal in a directory goes on in a new file.",
    ),
    click.option(
        "--journal-files",
        metavar="NUMBER",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="How many files a directory keeps.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The command line."""

    config: str | None
    kubeconfig: str | None
    context: str | None
    master: str | None
    feature_gates: str
    write_config_to: str | None
    leader_elect: bool | None
    leader_elect_lease_duration: Duration | None
    leader_elect_renew_deadline: Duration | None
    leader_elect_retry_period: Duration | None
    leader_elect_resource_lock: str | None
    leader_elect_resource_name: str | None
    leader_elect_resource_namespace: str | None
    secure_port: int
    bind_address: str
    tls_cert_file: str | None
    tls_private_key_file: str | None
    tls_min_version: str
    tls_cipher_suites: tuple[str, ...]
    client_ca_file: str | None
    authorization_always_allow_paths: tuple[str, ...]
    authentication_kubeconfig: str | None
    authorization_kubeconfig: str | None
    pod_max_in_unschedulable_pods_duration: Duration
    kube_api_qps: float | None
    kube_api_burst: int | None
    verbosity: int
    logging_format: LogFormat
    foreign_victims: str | None
    evictions_per_minute: int | None
    evictions_per_minute_per_namespace: int | None
    preemption_loop_rounds: int | None
    shadow: bool
    shadow_report: Path | None
    journal: str | None
    journal_file_size: float
    journal_files: int


def run_options(function: F) -> F:
    """Gives a command all options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def configuration_of(options: RunOptions) -> Configuration:
    """The file, with what flags say instead. A shadow has no limits unless told: those it watches have none."""
    configuration = load_configuration(
        options.config,
        feature_gates=options.feature_gates,
        overrides={"leaderElection": _election_fields(options), "clientConnection": _connection_fields(options)},
        parked_max_ns=int(options.pod_max_in_unschedulable_pods_duration),
        safety=UPSTREAM if options.shadow else LIVE,
    )
    safety, _ = safety_given(asdict(options))
    return replace(configuration, safety=with_settings(configuration.safety, safety))


def _election_fields(options: RunOptions) -> dict[str, Any]:
    given = {
        "leaderElect": options.leader_elect,
        "leaseDuration": options.leader_elect_lease_duration,
        "renewDeadline": options.leader_elect_renew_deadline,
        "retryPeriod": options.leader_elect_retry_period,
        "resourceLock": options.leader_elect_resource_lock,
        "resourceName": options.leader_elect_resource_name,
        "resourceNamespace": options.leader_elect_resource_namespace,
    }
    return {field: _written(value) for field, value in given.items() if value is not None}


def _connection_fields(options: RunOptions) -> dict[str, Any]:
    fields: dict[str, Any] = {} if options.kubeconfig is None else {"kubeconfig": options.kubeconfig}
    limits = {"qps": options.kube_api_qps, "burst": options.kube_api_burst}
    given = {field: value for field, value in limits.items() if value is not None}
    if given and options.config is not None:
        note("--kube-api-qps and --kube-api-burst are ignored because --config is given")
        return fields
    return {**fields, **given}


def _written(value: Any) -> Any:
    return f"{int(value)}ns" if isinstance(value, Duration) else value
