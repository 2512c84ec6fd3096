"""What `bayplan run` shows of itself: the pages of the secure port.

Takes the command line, the configuration and the running parts; gives something that serves until it is cancelled.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bayplan.apiserver.http.server import TlsFiles, listening_socket
from bayplan.cli.run_options import RunOptions
from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient
from bayplan.client.leases import LeaderElector
from bayplan.config.loading import Configuration
from bayplan.config.writing import configuration_document
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.serving.access import AccessControl
from bayplan.serving.decisions import DecisionRecorder
from bayplan.serving.encryption import Encryption
from bayplan.serving.health import Check, HealthPage
from bayplan.serving.inspecting import Inspector
from bayplan.serving.pages import Metrics, Page, configuration_page, debug_pages, health_pages, metrics_pages
from bayplan.serving.pod_resources import pod_resource_metrics
from bayplan.serving.port_settings import TLS_VERSIONS
from bayplan.serving.secure_port import Pages, SecurePort
from bayplan.worlds.live import LiveWorld


@dataclass(frozen=True, slots=True)
class Shown:
    """The running parts that have something to show."""

    scheduler: Scheduler
    world: LiveWorld
    elector: LeaderElector | None
    recorder: DecisionRecorder
    metrics: Metrics
    is_stopping: Callable[[], bool]


def secure_port(options: RunOptions, configuration: Configuration, client: ApiClient, shown: Shown) -> SecurePort:
    """Ready to run. Raises click.UsageError."""
    encryption = _encryption(options)
    pages = Pages(_access(options, client), _pages(configuration, shown))
    return SecurePort(pages, _socket(options), encryption)


def _access(options: RunOptions, client: ApiClient) -> AccessControl:
    def asked(kubeconfig: str | None) -> ApiClient:
        return client if kubeconfig is None else connect(kubeconfig)

    return AccessControl(
        asked(options.authentication_kubeconfig),
        options.authorization_always_allow_paths,
        authorization=asked(options.authorization_kubeconfig),
    )


def _socket(options: RunOptions) -> socket.socket:
    try:
        return listening_socket(options.bind_address, options.secure_port)
    except OSError as error:
        where = f"{options.bind_address}:{options.secure_port}"
        raise click.UsageError(f"the secure port {where} cannot be used: {error.strerror}") from error


def _pages(configuration: Configuration, shown: Shown) -> Mapping[str, Page]:
    health = health_checks(shown)
    inspector = Inspector(shown.scheduler, shown.world.objects)
    started_at_s = time.time_ns() / SECOND
    return {
        **health_pages(health),
        **configuration_page(configuration_document(configuration)),
        **debug_pages(inspector, shown.recorder),
        **metrics_pages(shown.metrics, lambda: _pod_resources(shown), health, started_at_s),
    }


def health_checks(shown: Shown) -> Sequence[HealthPage]:
    """The pages of upstream, with its checks in its order."""
    world, elector = shown.world, shown.elector
    leads = () if elector is None else (Check("leaderElection", elector.complaint),)
    shutdown = Check("shutdown", lambda: "process is shutting down" if shown.is_stopping() else "")
    synced = Check("sched-handler-sync", lambda: "" if world.is_synced else "handlers are not fully synchronized")
    healthz = HealthPage("healthz", leads) if leads else HealthPage("healthz")
    return healthz, HealthPage("livez"), HealthPage("readyz", (*leads, shutdown, synced))


def _pod_resources(shown: Shown) -> str:
    """Nothing while another process leads, so that each pod is counted once."""
    if shown.elector is not None and not shown.elector.is_leading():
        return ""
    return pod_resource_metrics(_pods(shown.world.objects("Pod")))


def _pods(known: Mapping[str, Object]) -> Sequence[Pod]:
    return [pod for pod in known.values() if isinstance(pod, Pod)]


def _encryption(options: RunOptions) -> Encryption:
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file go together")
    files = TlsFiles(Path(certificate), Path(key)) if certificate is not None and key is not None else None
    authority = None if options.client_ca_file is None else Path(options.client_ca_file)
    try:
        return Encryption(
            files,
            authority,
            minimum=TLS_VERSIONS[options.tls_min_version],
            cipher_suites=options.tls_cipher_suites,
        )
    except (OSError, ssl.SSLError) as error:
        raise click.UsageError(f"TLS cannot be set up for the secure port: {error}") from error
