"""The options of `bayplan run`, under kube-scheduler's names where they mean the same.

Takes the command line; gives `RunOptions`. As in Go, a switch may have a value (`--leader-elect=false`) and a number
may stand behind an equals sign (`-v=2`). Flags that kube-scheduler ignores beside a file are ignored here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from bayplan.cli.access_options import access_options
from bayplan.cli.go_flags import GO_BOOL, GO_DURATION, GO_INT, PORT, list_option
from bayplan.cli.options import (
    bad_option,
    check_gates,
    config_option,
    feature_gates_option,
    kubernetes_version_option,
    note,
)
from bayplan.cli.safety_options import safety_given, safety_options
from bayplan.cli.upstream_flags import UNUSED_FLAGS, unused_flags, version_option
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.releases import NEAREST, RELEASES, KubernetesRelease, UnknownReleaseError, release_named
from bayplan.core.preemption.safety import LIVE, UPSTREAM
from bayplan.model.durations import Duration
from bayplan.model.errors import InvalidObject
from bayplan.serving.logs import LogFormat
from bayplan.serving.port_settings import ALWAYS_ALLOWED, TLS_VERSIONS

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_SECURE_PORT = 10_259
_SWITCHES = frozenset(
    {
        "--leader-elect",
        "--shadow",
        "--permit-port-sharing",
        "--authentication-skip-lookup",
        "--authentication-tolerate-lookup-failure",
        *(f"--{flag.name}" for flag in UNUSED_FLAGS if flag.is_switch),
    }
)


class RunCommand(click.Command):
    """A command that takes flags as Go does: switches may have values, and underscores stand for dashes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        dashed = [_dashed(arg) for arg in args]
        return super().parse_args(ctx, [f"{arg}=true" if arg in _SWITCHES else arg for arg in dashed])


def _dashed(arg: str) -> str:
    name, equals, value = arg.partition("=")
    return f"{name.replace('_', '-')}{equals}{value}" if arg.startswith("--") else arg


def _emulated(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            release_named(_emulates(value))
        except UnknownReleaseError as error:
            raise click.UsageError(f"--emulated-version={value} is not supported: {error}") from error
    return values


def _emulates(value: str) -> str:
    """`1.36` of `kube=1.36`."""
    return value.rpartition("=")[2]


_OPTIONS: tuple[Callable[[F], F], ...] = (
    config_option,
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the cluster. Default: clientConnection.kubeconfig of the configuration, else kubectl's "
        "($KUBECONFIG, ~/.kube/config), else the service account of the pod this runs in.",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig. Default: its current one."),
    click.option("--master", metavar="URL", help="Address of the API server, instead of the kubeconfig's."),
    kubernetes_version_option,
    feature_gates_option,
    click.option("--write-config-to", metavar="FILE", help="Write the configuration with all defaults, and exit."),
    click.option("--leader-elect", type=GO_BOOL, help="Schedule only while holding a Lease. Default: true."),
    click.option("--leader-elect-lease-duration", type=GO_DURATION, help="Duration of a Lease. Default: 15s."),
    click.option("--leader-elect-renew-deadline", type=GO_DURATION, help="How long to retry renewals. Default: 10s."),
    click.option("--leader-elect-retry-period", type=GO_DURATION, help="Time between retries. Default: 2s."),
    click.option("--leader-elect-resource-lock", metavar="KIND", help="Only leases is supported."),
    click.option("--leader-elect-resource-name", metavar="NAME", help="Name of the Lease. Default: kube-scheduler."),
    click.option(
        "--leader-elect-resource-namespace", metavar="NAME", help="Namespace of the Lease. Default: kube-system."
    ),
    click.option(
        "--secure-port",
        type=PORT,
        default=DEFAULT_SECURE_PORT,
        show_default=True,
        help="HTTPS port for health checks, metrics and debug pages; 0: none.",
    ),
    click.option("--bind-address", default="0.0.0.0", show_default=True, help="Address the secure port listens on."),
    click.option("--tls-cert-file", metavar="FILE", help="Certificate of the secure port. Default: self-signed."),
    click.option("--tls-private-key-file", metavar="FILE", help="Private key of the certificate."),
    click.option("--cert-dir", metavar="DIR", help="Directory of kube-scheduler.crt and .key; created if missing."),
    click.option(
        "--tls-min-version",
        type=click.Choice([*TLS_VERSIONS]),
        help="Minimum TLS version of the secure port. Default, and lowest: VersionTLS12.",
    ),
    list_option("--tls-cipher-suites", (), "Cipher suites for TLS 1.2, by Go's names. Default: the library's."),
    click.option(
        "--permit-port-sharing", type=GO_BOOL, default=False, help="Let other processes share the port (SO_REUSEPORT)."
    ),
    click.option("--client-ca-file", metavar="FILE", help="CA of client certificates that authenticate users."),
    list_option("--authorization-always-allow-paths", ALWAYS_ALLOWED, "Paths that need no permission.", "PATHS"),
    click.option("--authentication-kubeconfig", metavar="FILE", help="Cluster to authenticate with (TokenReview)."),
    click.option("--authorization-kubeconfig", metavar="FILE", help="Cluster to authorize with (SubjectAccessReview)."),
    access_options,
    click.option(
        "--pod-max-in-unschedulable-pods-duration",
        type=GO_DURATION,
        default="5m0s",
        show_default=True,
        help="How long an unschedulable pod waits before it is retried without any event.",
    ),
    click.option("--kube-api-qps", type=float, help="Requests per second; ignored with --config. Default: 50."),
    click.option("--kube-api-burst", type=GO_INT, help="Burst of requests; ignored with --config. Default: 100."),
    list_option("--disabled-metrics", (), "Metrics to disable."),
    click.option(
        "--emulated-version", multiple=True, callback=_emulated, help="Only the version that decides is supported."
    ),
    unused_flags,
    version_option,
    click.option(
        "--logging-format",
        type=click.Choice([log_format.value for log_format in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        callback=lambda _context, _parameter, value: LogFormat(value),
        help="Log format.",
    ),
    click.option("-v", "--v", "verbosity", type=GO_INT, default=0, show_default=True, help="Log verbosity."),
    safety_options(LIVE),
    click.option(
        "--shadow",
        type=GO_BOOL,
        default=False,
        help="Write nothing: make decisions, and compare them with those of the active scheduler.",
    ),
    click.option(
        "--shadow-report",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Write the comparison to FILE on exit, as JSON (.json) or as a page (.html).",
    ),
    click.option(
        "--journal",
        metavar="FILE|DIR",
        help="Record all input and decisions, for bayplan replay; in a directory (DIR/), files rotate.",
    ),
    click.option(
        "--journal-file-size",
        metavar="MB",
        type=click.FloatRange(min=0, min_open=True),
        default=100.0,
        show_default=True,
        help="Size at which a journal in a directory continues in a new file.",
    ),
    click.option(
        "--journal-files",
        metavar="NUMBER",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="Number of files to keep in the directory.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The command line."""

    config: str | None
    kubeconfig: str | None
    context: str | None
    master: str | None
    kubernetes_version: str | None
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
    tls_min_version: str | None
    tls_cipher_suites: tuple[str, ...]
    cert_dir: str | None
    permit_port_sharing: bool
    client_ca_file: str | None
    authorization_always_allow_paths: tuple[str, ...]
    authentication_kubeconfig: str | None
    authorization_kubeconfig: str | None
    authentication_skip_lookup: bool
    authentication_tolerate_lookup_failure: bool
    authentication_token_webhook_cache_ttl: Duration
    authorization_webhook_cache_authorized_ttl: Duration
    authorization_webhook_cache_unauthorized_ttl: Duration
    requestheader_client_ca_file: str | None
    requestheader_allowed_names: tuple[str, ...]
    requestheader_username_headers: tuple[str, ...]
    requestheader_group_headers: tuple[str, ...]
    requestheader_uid_headers: tuple[str, ...]
    requestheader_extra_headers_prefix: tuple[str, ...]
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
    disabled_metrics: tuple[str, ...]
    emulated_version: tuple[str, ...]
    flags: Mapping[str, str]  # all of them, as text


def run_options(function: F) -> F:
    """Gives a command all options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def provisional_configuration(options: RunOptions) -> Configuration:
    """The configuration of the newest version that can have it, as long as the server has not said which it is of."""
    if options.kubernetes_version not in (None, NEAREST):
        return configuration_of(options, release_named(options.kubernetes_version))
    refused: Exception | None = None
    for release in reversed([*RELEASES.values()]):
        try:
            return configuration_of(options, release)
        except InvalidObject as error:
            refused = refused or error
    assert refused is not None
    raise refused


def configuration_of(options: RunOptions, release: KubernetesRelease) -> Configuration:
    """The file, with what flags say instead. A shadow has no limits unless told: those it watches have none."""
    check_gates(options.feature_gates, release, with_groups=True)
    for value in options.emulated_version:
        if release_named(_emulates(value)) is not release:
            message = f"{value} is not supported: decisions are those of {release.version}; use --kubernetes-version"
            raise bad_option("--emulated-version", message)
    configuration = load_configuration(
        options.config,
        feature_gates=options.feature_gates,
        release=release,
        overrides={"leaderElection": _election_fields(options), "clientConnection": _connection_fields(options)},
        with_groups=True,
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
