"""`bayplan run`: the scheduler of a Kubernetes cluster, in place of kube-scheduler or beside it.

Puts the parts together, with a function for each concern. The first SIGTERM or SIGINT ends it in order: no more
decisions, what was begun is finished, the Lease is given back, exit code 0; the second ends it at once.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from bayplan.cli.run_options import RunCommand, RunOptions, configuration_of, run_options
from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient
from bayplan.client.event_loop import run_event_loop
from bayplan.client.leases import LeaderElector, LeaseLostError
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Limits, Writer
from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.config.scheduling import build_scheduler
from bayplan.config.writing import configuration_text
from bayplan.report.shadow.page import write_shadow_report
from bayplan.report.shadow.tables import shadow_parts
from bayplan.report.terminal import show
from bayplan.report.words import counted
from bayplan.worlds.live import LiveWorld, SystemClock
from bayplan.worlds.live_observers import LiveObserver
from bayplan.worlds.shadow import Shadow

#: How long what was begun may take to finish when the process is to end.
_DRAINS_WITHIN_S = 5.0
_GIVES_WAY_EVERY_S = 1.0


@click.command(cls=RunCommand)
@run_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Schedule the pods of a Kubernetes cluster, with kube-scheduler's configuration and flags.

    Exit codes: 0 ended by a signal; 1 the Lease was lost; 2 bad input.
    """
    options = RunOptions(**given)
    configuration = configuration_of(options)
    if options.write_config_to is not None:
        Path(options.write_config_to).write_text(configuration_text(configuration), encoding="utf-8")
        click.echo(f"wrote the configuration to {options.write_config_to}", err=True)
        return
    try:
        run_event_loop(_run(options, configuration))
    except* LeaseLostError:
        click.echo("error: leaderelection lost", err=True)
        ctx.exit(1)


async def _run(options: RunOptions, configuration: Configuration) -> None:
    stopping = _stop_on_signals()
    client = connect(configuration.client_connection.kubeconfig or None, options.context)
    try:
        process = _Process(options, configuration, client)
        _announce(configuration, process.elector, is_shadow=options.shadow)
        await process.run_until(stopping)
    finally:
        await client.close()


def _stop_on_signals() -> asyncio.Future[None]:
    """Done when the process is asked to end."""
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # the next one ends the process at once
        stopping.set_result(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return stopping


class _Process:
    """The parts of a running scheduler."""

    def __init__(self, options: RunOptions, configuration: Configuration, client: ApiClient) -> None:
        clock = SystemClock()
        started_at = clock()
        self._options = options
        self._clock = clock
        self.shadow = _shadow(configuration, started_at) if options.shadow else None
        self.elector = None if self.shadow is not None else _election(configuration, client, self._wake)
        on_choice = None if self.shadow is None else self.shadow.chosen
        self.world = LiveWorld(
            build_scheduler(configuration, started_at=started_at, on_choice=on_choice),
            client,
            kinds_to_watch(configuration),
            clock=clock,
            observers=self._observers(),
            may_decide=_always if self.elector is None else self.elector.is_leading,
            incoming=None if self.shadow is None else self.shadow.incoming,
            on_trouble=_report,
            decides_in_thread=bool(configuration.extenders),
        )
        self.writer: Writer | Shadow = self.shadow or _writer(configuration, client, self.world)
        if self.shadow is not None:
            self.shadow.answer_to(self.world.answer)

    def _wake(self) -> None:
        self.world.wake()

    async def run_until(self, stopping: asyncio.Future[None]) -> None:
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(part) for part in self._parts()]
            election = None if self.elector is None else tasks.create_task(self.elector.run())
            await asyncio.shield(stopping)
            for task in work:
                task.cancel()
            await self.writer.drain(_DRAINS_WITHIN_S)
            if self.elector is not None and election is not None:
                self.elector.stop()
                await election
            if self.shadow is not None:
                _report_findings(self.shadow, self._options, self._clock())

    def _observers(self) -> list[LiveObserver]:
        """Who looks on."""
        return [] if self.shadow is None else [self.shadow]

    def _parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs until it is cancelled."""
        parts = [self.world.run(self.writer)]
        if self.shadow is not None:
            parts.append(self._give_way(self.shadow))
        return parts

    async def _give_way(self, shadow: Shadow) -> None:
        """Reality comes first: what nobody does within its time is taken back."""
        while True:
            await asyncio.sleep(_GIVES_WAY_EVERY_S)
            for event in shadow.overdue(self._clock()):
                self.world.answer(event)


def _always() -> bool:
    return True


def _election(configuration: Configuration, client: ApiClient, on_started: Any) -> LeaderElector | None:
    """None where everybody may decide."""
    election = configuration.leader_election
    if not election.leader_elect:
        return None
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    component = configuration.profiles[0].scheduler_name
    return LeaderElector(client, election, identity, component, on_started=on_started)


def _shadow(configuration: Configuration, started_at: int) -> Shadow:
    return Shadow(build_profiles(configuration), configuration.gates, started_at=started_at)


def _report_findings(shadow: Shadow, options: RunOptions, now: int) -> None:
    found = shadow.finish(now).to_dict()
    if options.shadow_report is not None:
        write_shadow_report(found, options.shadow_report)
    show(shadow_parts(found), sys.stdout)


def _writer(configuration: Configuration, client: ApiClient, world: LiveWorld) -> Writer:
    connection = configuration.client_connection
    return Writer(
        client,
        world.find,
        world.answer,
        limits=Limits(connection.qps, connection.burst),
        on_written=world.observers.wrote,
    )


def _announce(configuration: Configuration, elector: LeaderElector | None, *, is_shadow: bool) -> None:
    names = ", ".join(profile.scheduler_name for profile in configuration.profiles)
    kinds = counted(len(kinds_to_watch(configuration)), "kind")
    as_whom = "without leader election" if elector is None else f"as {elector.identity}"
    does = "watches how pods are scheduled that ask for" if is_shadow else "schedules pods of"
    click.echo(f"bayplan {does} {names}, {as_whom}, watching {kinds} of objects", err=True)


def _report(message: str) -> None:
    click.echo(f"warning: {message}", err=True)
