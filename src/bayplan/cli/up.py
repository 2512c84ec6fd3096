"""`bayplan up`: a cluster in this process, for kubectl and a browser."""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path
from urllib.parse import quote

import click

from bayplan.apiserver.storage.durable import InvalidState
from bayplan.cli.options import CommandWithFiles, bad_option, config_option, feature_gates_option
from bayplan.config.loading import load_configuration
from bayplan.web.dashboard import Dashboard
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.kubeconfig import kubeconfig
from bayplan.worlds.starting_nodes import starting_nodes

_SPEEDS = {"1x": 1.0, "10x": 10.0, "100x": 100.0}


def _address(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, int]:
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise click.BadParameter(f"{value!r}: expected ADDRESS:PORT, such as 127.0.0.1:8080", ctx, parameter)
    return host.strip("[]") or "127.0.0.1", int(port)


@click.command(cls=CommandWithFiles)
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    callback=_address,
    help="Where to listen; port 0 picks a free one.",
)
@click.option(
    "--nodes", default="3", show_default=True, help="How many nodes to start with, or nodes such as 8cpu,32Gi=5."
)
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), help="Keep everything in this file, across restarts."
)
@click.option(
    "--kubeconfig", "kubeconfig_file", type=click.Path(path_type=Path, dir_okay=False), help="Write a kubeconfig here."
)
@click.option(
    "--speed",
    type=click.Choice(list(_SPEEDS)),
    default="1x",
    show_default=True,
    help="How fast kubelets start and stop pods.",
)
@click.option("--token", help="Token that every request must carry. Default: a random one.")
@click.option("--no-scheduler", is_flag=True, help="Leave pods to another scheduler.")
@click.option("--no-controllers", is_flag=True, help="Run no controllers and no kubelets.")
@config_option
@feature_gates_option
def command(
    listen: tuple[str, int],
    nodes: str,
    state: Path | None,
    kubeconfig_file: Path | None,
    speed: str,
    token: str | None,
    no_scheduler: bool,
    no_controllers: bool,
    config: str | None,
) -> None:
    """Run a cluster in this process: a Kubernetes API, a scheduler, controllers and simulated nodes."""
    host, port = listen
    hosting = Hosting(
        token=token or secrets.token_urlsafe(24),
        host=host,
        port=port,
        state=state,
        speed=_SPEEDS[speed],
        with_scheduler=not no_scheduler,
        with_controllers=not no_controllers,
        configuration=load_configuration(config),
    )
    try:
        cluster = HostedCluster(hosting, starting_nodes(nodes), lambda hosted: Dashboard.of(hosted, config))
    except InvalidState as error:
        raise bad_option("--state", str(error)) from None
    path = kubeconfig_file or Path.cwd() / "bayplan.kubeconfig"
    path.write_text(kubeconfig(cluster.url, hosting.token), encoding="utf-8")
    asyncio.run(_run(cluster, path, hosting.token))


async def _run(cluster: HostedCluster, path: Path, token: str) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cluster.stop)
    running = asyncio.ensure_future(cluster.run())
    starting = asyncio.ensure_future(cluster.started())
    await asyncio.wait({running, starting}, return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        _announce(cluster, path, token)
    await running


def _announce(cluster: HostedCluster, path: Path, token: str) -> None:
    click.echo(f"Cluster ready at {cluster.url}")
    click.echo(f"Dashboard: {cluster.url}/#token={quote(token)}")
    click.echo(f"export KUBECONFIG={path}")
