"""What `bayplan run` shows of itself: the pages of the secure port.

Takes the command line, the configuration and the running parts; gives something that serves until it is canceled.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bayplan import __version__
from bayplan.apiserver.http.server import TlsFiles, listening_socket
from bayplan.cli.run_options import RunOptions
from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient
from bayplan.client.leases import LeaderElector
from bayplan.config.loading import Configuration
from bayplan.config.writing import configuration_document
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.serving.access import AccessControl, Memory
from bayplan.serving.authentication_lookup import AuthenticationLookup
from bayplan.serving.decisions import DecisionRecorder
from bayplan.serving.encryption import LOCAL_NAMES, Encryption
from bayplan.serving.health import Check, HealthPage
from bayplan.serving.inspecting import Inspector
from bayplan.serving.pages import Page, Renderable, configuration_page, debug_pages, health_pages, metrics_pages
from bayplan.serving.pod_resources import pod_resource_metrics
from bayplan.serving.port_settings import TLS_VERSIONS
from bayplan.serving.secure_port import Pages, SecurePort
from bayplan.serving.users import ProxyHeaders, Trust
from bayplan.serving.zpages import COMPONENT, flags_page, status_page
from bayplan.worlds.certificates import self_signed
from bayplan.worlds.live import LiveWorld


@dataclass(frozen=True, slots=True)
class RunningParts:
    """The running parts that have something to show."""

    scheduler: Scheduler
    world: LiveWorld
    elector: LeaderElector | None
    recorder: DecisionRecorder
    metrics: Renderable
    is_stopping: Callable[[], bool]


def secure_port(
    options: RunOptions, configuration: Configuration, client: ApiClient, shown: RunningParts
) -> SecurePort:
    """Ready to run. Raises click.UsageError."""
    encryption = _encryption(options)
    trust = _trust(options, encryption)
    authentication = _asked(options.authentication_kubeconfig, client)
    pages = Pages(
        _access(options, authentication, _asked(options.authorization_kubeconfig, client), trust),
        _pages(configuration, shown, options.flags),
    )
    return SecurePort(pages, _socket(options), encryption, _lookup(options, authentication, trust))


def _asked(kubeconfig: str | None, client: ApiClient) -> ApiClient:
    return connect(kubeconfig) if kubeconfig else client


def _access(options: RunOptions, authentication: ApiClient, authorization: ApiClient, trust: Trust) -> AccessControl:
    memory = Memory(
        token_s=int(options.authentication_token_webhook_cache_ttl) / SECOND,
        authorized_s=int(options.authorization_webhook_cache_authorized_ttl) / SECOND,
        unauthorized_s=int(options.authorization_webhook_cache_unauthorized_ttl) / SECOND,
    )
    paths = options.authorization_always_allow_paths
    return AccessControl(authentication, paths, authorization=authorization, trust=trust, memory=memory)


def _trust(options: RunOptions, encryption: Encryption) -> Trust:
    """Whose certificates count, as far as flags say it."""
    trust = Trust(encryption)
    try:
        if options.client_ca_file:
            trust.believe_clients(Path(options.client_ca_file).read_bytes())
        if options.requestheader_client_ca_file:
            headers = ProxyHeaders(
                users=options.requestheader_username_headers,
                groups=options.requestheader_group_headers,
                uids=options.requestheader_uid_headers,
                extra_prefixes=options.requestheader_extra_headers_prefix,
                allowed_names=options.requestheader_allowed_names,
            )
            trust.believe_proxies(Path(options.requestheader_client_ca_file).read_bytes(), headers)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"the CA of client certificates cannot be used: {error}") from error
    return trust


def _lookup(options: RunOptions, client: ApiClient, trust: Trust) -> AuthenticationLookup | None:
    """For those who named a cluster to ask. Upstream asks that of the pod's service account, too."""
    if not options.authentication_kubeconfig or options.authentication_skip_lookup:
        return None
    return AuthenticationLookup(
        client,
        trust,
        wants_clients=not options.client_ca_file,
        wants_proxies=not options.requestheader_client_ca_file,
        tolerates_failure=options.authentication_tolerate_lookup_failure,
    )


def _socket(options: RunOptions) -> socket.socket:
    try:
        return listening_socket(options.bind_address, options.secure_port, is_shared=options.permit_port_sharing)
    except OSError as error:
        where = f"{options.bind_address}:{options.secure_port}"
        raise click.UsageError(f"the secure port {where} cannot be used: {error.strerror}") from error


def _pages(configuration: Configuration, shown: RunningParts, flags: Mapping[str, str]) -> Mapping[str, Page]:
    health = health_checks(shown)
    inspector = Inspector(shown.scheduler, shown.world.objects)
    started_at = time.time_ns()
    pages = {
        **health_pages(health),
        **configuration_page(configuration_document(configuration)),
        **(flags_page(flags) if configuration.gates.component_flagz else {}),
        **debug_pages(inspector, shown.recorder),
        **metrics_pages(shown.metrics, lambda: _pod_resources(shown, configuration.gates), health, started_at / SECOND),
    }
    if configuration.gates.component_statusz:
        kubernetes = configuration.release.version
        pages |= status_page(pages, f"{kubernetes}+bayplan.{__version__}", kubernetes, started_at)
    return pages


def health_checks(shown: RunningParts) -> Sequence[HealthPage]:
    """The pages of upstream, with its checks in its order."""
    world, elector = shown.world, shown.elector
    leads = () if elector is None else (Check("leaderElection", elector.complaint),)
    shutdown = Check("shutdown", lambda: "process is shutting down" if shown.is_stopping() else "")
    synced = Check("sched-handler-sync", lambda: "" if world.is_synced else "handlers are not fully synchronized")
    healthz = HealthPage("healthz", leads) if leads else HealthPage("healthz")
    return healthz, HealthPage("livez"), HealthPage("readyz", (*leads, shutdown, synced))


def _pod_resources(shown: RunningParts, gates: FeatureGates) -> str:
    """Nothing while another process leads, so that each pod is counted once."""
    if shown.elector is not None and not shown.elector.is_leading():
        return ""
    return pod_resource_metrics(_pods(shown.world.objects("Pod")), gates)


def _pods(known: Mapping[str, Object]) -> Sequence[Pod]:
    return [pod for pod in known.values() if isinstance(pod, Pod)]


def _encryption(options: RunOptions) -> Encryption:
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if bool(certificate) != bool(key):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file must be used together")
    try:
        files = TlsFiles(Path(certificate), Path(key)) if certificate and key else _files_in(options.cert_dir)
        minimum = TLS_VERSIONS[options.tls_min_version or "VersionTLS12"]
        return Encryption(files, minimum=minimum, cipher_suites=options.tls_cipher_suites)
    except (OSError, ssl.SSLError) as error:
        raise click.UsageError(f"TLS cannot be set up for the secure port: {error}") from error


def _files_in(folder: str | None) -> TlsFiles | None:
    """Certificate and key in the directory, made and written if they are not there. Raises OSError."""
    if not folder:
        return None
    files = TlsFiles(Path(folder, f"{COMPONENT}.crt"), Path(folder, f"{COMPONENT}.key"))
    if not all(file.exists() for file in files):
        made = self_signed(LOCAL_NAMES)
        Path(folder).mkdir(parents=True, exist_ok=True)
        files.key.touch(mode=0o600)
        files.key.write_bytes(made.key)
        files.certificate.write_bytes(made.certificate)
    return files
