"""`bayplan mcp`: questions about a cluster for assistants, over the Model Context Protocol."""

from __future__ import annotations

import time
from importlib.util import find_spec

import click

from bayplan.analysis.cluster import Cluster
from bayplan.cli.options import CommandWithFiles, config_option, files_option, kubernetes_version_option
from bayplan.cli.sources import Source, live_options

_KEPT_S = 5.0


@click.command("mcp", cls=CommandWithFiles, epilog="Exit codes: 0 the client has left; 2 bad input or usage.")
@files_option
@live_options
@config_option
@kubernetes_version_option
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    default="",
    help="For a tenant: only pods of this namespace can be asked about, and nothing of other namespaces is named.",
)
@click.option("--http", "address", metavar="ADDRESS:PORT", help="Serve HTTP (path /mcp) instead of standard input.")
@click.option(
    "--max-bytes",
    type=click.IntRange(2_000, 10_000_000),
    default=60_000,
    show_default=True,
    help="Size of an answer's data; longer lists are cut, and the answer says which.",
)
def command(
    files: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    config: str | None,
    kubernetes_version: str | None,
    namespace: str,
    address: str | None,
    max_bytes: int,
) -> None:
    """Let assistants ask about a cluster: pending, explain, fix, whatif, drain, exposure, capacity, audit and others.

    Read-only: nothing is written to the cluster, and an assistant can name neither files nor another cluster. A live
    cluster is read again for each question.
    """
    if find_spec("mcp") is None:
        raise click.UsageError("bayplan mcp needs the mcp package: pip install 'bayplan[mcp]'")
    from bayplan.assistant.questions import Questions  # noqa: PLC0415 - needs the extra
    from bayplan.assistant.server import make_server  # noqa: PLC0415

    source = Source(files, kubeconfig, context)
    reading = _Reading(source, kubernetes_version)
    reading.cluster()  # what cannot be read is better known now
    server = make_server(Questions(reading.cluster, config, namespace, max_bytes))
    if address is None:
        server.run("stdio")
    else:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise click.BadParameter(f"{address!r}: expected ADDRESS:PORT", param_hint="--http")
        server.run("streamable-http", host=host, port=int(port))


class _Reading:
    """The cluster: files are read once, a live cluster again unless that was moments ago."""

    def __init__(self, source: Source, kubernetes_version: str | None) -> None:
        self._source = source
        self._version = kubernetes_version
        self._cluster: Cluster | None = None
        self._read_at = 0.0

    def cluster(self) -> Cluster:
        is_old = self._source.is_live and time.monotonic() - self._read_at > _KEPT_S
        if self._cluster is None or is_old:
            self._cluster = Cluster.of(self._source.read(), self._version)
            self._read_at = time.monotonic()
        return self._cluster
