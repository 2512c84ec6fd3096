"""`bayplan up`: a cluster in this process, for kubectl and a browser."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from bayplan.analysis.simulation.inputs.node_templates import NODES_MAX, nodes_like
from bayplan.apiserver.admitting.plugins.switchable import SWITCHABLE
from bayplan.apiserver.housekeeping.events import EVENTS_MAX
from bayplan.apiserver.http.server import TlsFiles
from bayplan.apiserver.storage.durable import InvalidState
from bayplan.apiserver.storage.entries import Document
from bayplan.cli.go_flags import GO_DURATION
from bayplan.cli.options import (
    CommandWithFiles,
    bad_option,
    config_option,
    feature_gates_option,
    files_option,
    note_extenders,
    own_kubernetes_version_option,
)
from bayplan.config.loading import load_configuration
from bayplan.config.releases import KubernetesRelease, release_named
from bayplan.model.durations import Duration, format_duration
from bayplan.model.reading import SourcedDocument, read_documents
from bayplan.web.dashboard import Dashboard
from bayplan.worlds.bug_reports import BugReports
from bayplan.worlds.collecting import brief_collections
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.journal import head_of
from bayplan.worlds.kubeconfig import is_ours, kubeconfig
from bayplan.worlds.starting_nodes import documents_of, plain_nodes

_log = logging.getLogger(__name__)

_SPEEDS = {"1x": 1.0, "10x": 10.0, "100x": 100.0}


def _address(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, int]:
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise click.BadParameter(f"{value!r}: expected ADDRESS:PORT, such as 127.0.0.1:8080", ctx, parameter)
    return host.strip("[]") or "127.0.0.1", int(port)


def _switchable(ctx: click.Context, parameter: click.Parameter, value: str) -> frozenset[str]:
    names = frozenset(filter(None, value.split(",")))
    for name in sorted(names - SWITCHABLE.keys()):
        raise click.BadParameter(f"{name!r}: can be turned off: {', '.join(SWITCHABLE)}", ctx, parameter)
    return names


@click.command(cls=CommandWithFiles, epilog="Exit codes: 0 ended by a signal; 2 bad input or usage.")
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    callback=_address,
    envvar="BAYPLAN_LISTEN",
    show_envvar=True,
    help="Where to listen; port 0 picks a free one.",
)
@click.option(
    "--nodes",
    metavar="N|FILE=N|8cpu,32Gi=N",
    multiple=True,
    help="Nodes to start with: N plain ones, or N copies of each node in the file. Can be repeated. "
    "Default: 3, or none with -f.",
)
@files_option
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), help="File that keeps everything across restarts."
)
@click.option(
    "--write-kubeconfig",
    "kubeconfig_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write a kubeconfig. Default: a temporary file, or one next to --state.",
)
@click.option(
    "--speed",
    type=click.Choice(list(_SPEEDS)),
    default="1x",
    show_default=True,
    help="How fast kubelets start and stop pods.",
)
@click.option("--token", help="Token that every request must carry. Default: a random one.")
@click.option("--tls", is_flag=True, help="TLS only, on loopback too. Otherwise loopback also answers without.")
@click.option(
    "--event-ttl",
    type=GO_DURATION,
    default="1h",
    show_default=True,
    help="How long to keep an Event after it was last written.",
)
@click.option(
    "--event-limit",
    metavar="NUMBER",
    type=click.IntRange(min=1),
    default=EVENTS_MAX,
    show_default=True,
    help="How many Events to keep, and 4 KiB of JSON for each; the oldest go first.",
)
@click.option("--no-scheduler", is_flag=True, help="Leave pods to another scheduler.")
@click.option("--no-controllers", is_flag=True, help="Run no controllers and no kubelets.")
@click.option(
    "--disable-admission-plugins",
    "disabled_plugins",
    metavar="NAMES",
    default="",
    callback=_switchable,
    help=f"Admission plugins to turn off, separated by commas: {', '.join(SWITCHABLE)}.",
)
@config_option
@own_kubernetes_version_option("The cluster's version, whose API is served and whose scheduler decides")
@feature_gates_option
def command(
    listen: tuple[str, int],
    nodes: tuple[str, ...],
    files: tuple[str, ...],
    state: Path | None,
    kubeconfig_file: Path | None,
    speed: str,
    token: str | None,
    tls: bool,
    event_ttl: Duration,
    event_limit: int,
    no_scheduler: bool,
    no_controllers: bool,
    disabled_plugins: frozenset[str],
    config: str | None,
    kubernetes_version: str,
    feature_gates: str,
) -> None:
    """Run a cluster in this process: a Kubernetes API, a scheduler, controllers and simulated nodes."""
    host, port = listen
    written = read_documents(files) if files else []
    release = release_named(kubernetes_version)
    if not no_scheduler:
        note_extenders(config, feature_gates, release, how_to_ask="use --no-scheduler, and bayplan run beside it")
    folder = Path(tempfile.mkdtemp(prefix="bayplan-"))
    try:
        configuration = load_configuration(config, feature_gates=feature_gates, release=release, with_groups=True)
        hosting = Hosting(
            token=token or secrets.token_urlsafe(24),
            host=host,
            port=port,
            state=state,
            speed=_SPEEDS[speed],
            with_scheduler=not no_scheduler,
            with_controllers=not no_controllers,
            event_ttl_ns=_positive_ttl(event_ttl),
            events_max=event_limit,
            disabled_plugins=disabled_plugins,
            tls=_certificate(host, folder, state),
            plain_too=_is_loopback(host) and not tls,
            configuration=configuration,
            bugs=BugReports(_log_bug, head_of(configuration, config, feature_gates)),
        )
        path = _kubeconfig_path(kubeconfig_file, state, folder)
        front = partial(Dashboard.of, config=config, feature_gates=feature_gates)
        cluster = _cluster(hosting, _starting_nodes(nodes, files, release), written, front)
        _write_kubeconfig(path, cluster, hosting)
        asyncio.run(_run(cluster, path, hosting.token))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _positive_ttl(ttl: Duration) -> int:
    if ttl <= 0:
        raise bad_option("--event-ttl", f"{format_duration(ttl)}: expected a time above zero")
    return ttl


def _starting_nodes(nodes: tuple[str, ...], files: tuple[str, ...], release: KubernetesRelease) -> list[Document]:
    if not nodes:
        nodes = ("0",) if files else ("3",)
    now = time.time_ns()
    numbers = [each for each in nodes if each.isdecimal()]
    for number in numbers:
        if len(number) > len(str(NODES_MAX)) or int(number) > NODES_MAX:
            raise bad_option("--nodes", f"{number}: expected at most {NODES_MAX:,} nodes")
    templates = [each for each in nodes if not each.isdecimal()]
    plain = plain_nodes(sum(map(int, numbers)), now, release)
    return [*plain, *documents_of(nodes_like(templates), now, release)]


def _cluster(
    hosting: Hosting,
    nodes: list[Document],
    written: Sequence[SourcedDocument],
    front: Callable[[HostedCluster], Dashboard],
) -> HostedCluster:
    try:
        return HostedCluster(hosting, nodes, written, front=front)
    except InvalidState as error:
        raise bad_option("--state", str(error)) from None
    except OSError as error:
        address = f"{hosting.host}:{hosting.port}"
        raise bad_option("--listen", f"cannot listen on {address}: {error.strerror or error}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _certificate(host: str, folder: Path, state: Path | None) -> TlsFiles:
    """A certificate for all names of this machine, in files: beside the state, if that is kept."""
    # Loaded when it is needed: most commands do not.
    from bayplan.worlds.certificates import self_signed, still_serves  # noqa: PLC0415

    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), host]
    place = folder / "tls" if state is None else Path(f"{state}.tls")
    files = TlsFiles(Path(f"{place}.crt"), Path(f"{place}.key"))
    try:
        known = files.certificate.read_bytes() if files.key.exists() and files.certificate.exists() else b""
        if known and still_serves(known, names):
            return files
        made = self_signed(names)
        files.certificate.write_bytes(made.certificate)
        files.key.touch(mode=0o600)
        files.key.write_bytes(made.key)
    except OSError as error:
        raise bad_option("--state", f"{error.filename}: {error.strerror}") from None
    return files


def _kubeconfig_path(given: Path | None, state: Path | None, folder: Path) -> Path:
    if given is None and state is None:
        return folder / "kubeconfig"
    path = given or Path(f"{state}.kubeconfig")
    if path.exists() and not is_ours(path.read_text(encoding="utf-8", errors="replace")):
        raise bad_option("--write-kubeconfig", f"{path} exists and was not written by bayplan; it is left unchanged")
    return path.absolute()


def _write_kubeconfig(path: Path, cluster: HostedCluster, hosting: Hosting) -> None:
    """Nobody else may read the token in it."""
    certificate = b"" if hosting.tls is None else hosting.tls.certificate.read_bytes()
    path.touch(mode=0o600)
    path.write_text(kubeconfig(cluster.kubeconfig_url, hosting.token, certificate), encoding="utf-8")


async def _run(cluster: HostedCluster, path: Path, token: str) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cluster.stop)
    async with brief_collections() as collector:
        cluster.storage.follow(lambda _change: collector.note_change())
        running = asyncio.ensure_future(cluster.run())
        starting = asyncio.ensure_future(cluster.started())
        await asyncio.wait({running, starting}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            _announce(cluster, path, token)
        await running


def _log_bug(message: str, **fields: Any) -> None:
    traceback = fields.pop("traceback", "")
    told = ", ".join(f"{name}: {value}" for name, value in fields.items())
    _log.error("%s%s (%s)", traceback, message, told)


def _announce(cluster: HostedCluster, path: Path, token: str) -> None:
    click.echo(f"Cluster ready at {cluster.url}")
    click.echo(f"Dashboard: {cluster.url}/#token={quote(token)}")
    click.echo(f"export KUBECONFIG={path}")
