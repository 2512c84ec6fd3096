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
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayplan.analysis.memory import keep_memory
from bayplan.cli.run_options import RunCommand, RunOptions, configuration_of, provisional_configuration, run_options
from bayplan.cli.upstream_flags import flag_values
from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient
from bayplan.client.event_loop import run_event_loop
from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.extenders import HttpExtender, bind_by_extender, connect_extenders
from bayplan.client.http import HttpClient
from bayplan.client.leading import LeaderClient
from bayplan.client.leases import LeaderElector, LeaseLostError
from bayplan.client.loggers import structlog
from bayplan.client.server_version import found_version
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Limits, Writer
from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import choose_release
from bayplan.config.scheduling import build_scheduler
from bayplan.config.schema import ClientConnection
from bayplan.config.writing import configuration_text
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice
from bayplan.core.framework.verdict import CycleError
from bayplan.core.groups.cycle import GroupAttempt
from bayplan.core.snapshot import View
from bayplan.model.media_types import JSON
from bayplan.serving.decision_log import DecisionLog
from bayplan.serving.logs import configure
from bayplan.worlds.bug_reports import BugReports
from bayplan.worlds.bugs import OBSERVER, WRITE
from bayplan.worlds.collecting import CollectionsWhileLive, brief_collections
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.journal import head_of
from bayplan.worlds.live import LiveWorld, SystemClock
from bayplan.worlds.live_observers import LiveObserver

# What only some processes need is loaded by those: it would delay the first decision of all others.
if TYPE_CHECKING:
    from bayplan.serving.decisions import DecisionRecorder
    from bayplan.serving.metrics.registry import Metrics
    from bayplan.serving.secure_port import SecurePort
    from bayplan.worlds.live_journal import LiveJournal
    from bayplan.worlds.shadow import Shadow

#: How long what was begun may take to finish when the process is to end.
_DRAINS_WITHIN_S = 5.0
_log = structlog.get_logger("scheduler")
_GIVES_WAY_EVERY_S = 1.0


@click.command(
    cls=RunCommand,
    epilog="Exit codes: 0 ended by a signal; 1 the Lease was lost; 2 bad input or usage; 3 nothing works any more, "
    "because of a bug.",
)
@run_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Schedule the pods of a Kubernetes cluster, with kube-scheduler's configuration and flags."""
    options = RunOptions(**given, flags=flag_values(ctx))
    configuration = provisional_configuration(options)
    if options.write_config_to is not None:
        Path(options.write_config_to).write_text(configuration_text(configuration), encoding="utf-8")
        click.echo(f"wrote the configuration to {options.write_config_to}", err=True)
        return
    configure(options.logging_format, options.verbosity)
    keep_memory()
    try:
        run_event_loop(_run(options, configuration))
    except BaseExceptionGroup as group:
        error = _cause_of(group)
        if isinstance(error, LeaseLostError):
            ctx.exit(1)
        raise error from None


def _cause_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of the errors that ended it, which says more than that there were some."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _run(options: RunOptions, configuration: Configuration) -> None:
    stopping = _stop_on_signals()
    client = connect(configuration.client_connection.kubeconfig or None, options.context, server=options.master)
    try:
        found = await found_version(client, stopping, _report)
        if stopping.done():
            return
        chosen = choose_release(options.kubernetes_version, found)
        if chosen.note:
            _log.warning(chosen.note)
        if chosen.release is not configuration.release:
            configuration = configuration_of(options, chosen.release)
        metrics = _metrics(options.disabled_metrics) if options.secure_port else None
        process = _Process(options, configuration, _metered(client, metrics), metrics, stopping.done)
        _announce(configuration, process.elector, client.host, found, is_shadow=options.shadow)
        if options.config is not None:
            _announce_json(configuration.client_connection)
        async with brief_collections() as collector:
            process.world.observers.add(CollectionsWhileLive(collector))
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

    def __init__(
        self,
        options: RunOptions,
        configuration: Configuration,
        client: ApiClient,
        metrics: Metrics | None,
        is_stopping: Callable[[], bool],
    ) -> None:
        clock = SystemClock()
        started_at = clock()
        self._options, self._configuration, self._metrics = options, configuration, metrics
        self._clock = clock
        self.shadow = _shadow(configuration, started_at) if options.shadow else None
        self.elector = None if self.shadow is not None else _election(configuration, client, self._wake)
        self._journal = _journal(options, configuration, started_at)
        documents = KeptDocuments(configuration.extenders) if configuration.extenders else None
        self._bugs = BugReports(_log.error, head_of(configuration, options.config, options.feature_gates))
        extenders = () if documents is None else _extenders(configuration, documents, self._note_answer)
        self._recorder = _recorder(configuration) if options.secure_port else None
        with_groups = metrics is not None and configuration.gates.generic_workload
        self._group_attempts = metrics.watch_groups() if metrics is not None and with_groups else None
        self.scheduler = build_scheduler(
            configuration,
            started_at=started_at,
            on_choice=self._chosen if self._recorder is not None or self.shadow is not None else None,
            extenders=extenders,
            instruments=None if metrics is None else metrics.instruments,
            on_group_attempt=self._tried_group,
        )
        self.world = LiveWorld(
            self._driven(started_at),
            client,
            kinds_to_watch(configuration),
            clock=clock,
            observers=self._observers(),
            may_decide=_always if self.elector is None else self.elector.is_leading,
            incoming=None if self.shadow is None else self.shadow.incoming,
            on_trouble=_report,
            decides_in_thread=bool(extenders),
            documents=documents,
            on_bug=self._bugs,
        )
        self.writer: Writer | Shadow = self.shadow or self._new_writer(client, extenders)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, self._dump)
        if self.shadow is not None:
            self.shadow.answer_to(self.world.answer)
        self.secure_port: SecurePort | None = None
        if metrics is not None and self._recorder is not None:
            self._show_in(metrics)
            self.secure_port = self._serve(client, self._recorder, metrics, is_stopping)

    def _driven(self, started_at: int) -> DecidingScheduler:
        guarded = self._bugs.guard(self.scheduler, started_at)
        return guarded if self._metrics is None else self._metrics.measured(guarded)

    def _new_writer(self, client: ApiClient, extenders: Sequence[HttpExtender]) -> Writer:
        connection = self._configuration.client_connection
        return Writer(
            client if self.elector is None else LeaderClient(client, self.elector.is_leading),
            self.world.find,
            self.world.answer,
            limits=Limits(connection.qps, connection.burst),
            on_written=self.world.observers.wrote,
            bind_by_extender=partial(bind_by_extender, extenders),
            on_bug=partial(self._bugs, WRITE),
        )

    def _dump(self) -> None:
        from bayplan.serving.inspecting import Inspector  # noqa: PLC0415

        Inspector(self.scheduler, self.world.objects).dump()

    def _serve(
        self, client: ApiClient, recorder: DecisionRecorder, metrics: Metrics, is_stopping: Callable[[], bool]
    ) -> SecurePort:
        from bayplan.cli.run_serving import RunningParts, secure_port  # noqa: PLC0415

        shown = RunningParts(self.scheduler, self.world, self.elector, recorder, metrics, is_stopping)
        return secure_port(self._options, self._configuration, client, shown)

    def _show_in(self, metrics: Metrics) -> None:
        metrics.show_world(self.world)
        metrics.show_bugs(self._bugs.counts)
        if isinstance(self.writer, Writer):
            metrics.show_writes(self.writer.outcomes)
            metrics.show_creations(self.writer.created, self._configuration.release)
        else:
            metrics.show_shadow(self.writer.findings)
        if self.elector is not None:
            metrics.show_leader(self.elector, self._configuration.leader_election.resource_name)

    def _chosen(self, info: PodInfo, view: View, choice: Choice | CycleError) -> None:
        try:
            if self._recorder is not None:
                self._recorder.chose(info, view, choice)
            if self.shadow is not None:
                self.shadow.chosen(info, view, choice)
        except Exception as error:
            self._bugs(OBSERVER, info.key, error)

    def _tried_group(self, attempt: GroupAttempt, view: View) -> None:
        try:
            if self._group_attempts is not None:
                self._group_attempts.tried(attempt, view)
            if self.shadow is not None:
                self.shadow.tried_group(attempt, view)
        except Exception as error:
            self._bugs(OBSERVER, attempt.key, error)

    def _note_answer(self, answer: dict[str, Any]) -> None:
        """Of an extender."""
        now = self._clock()
        self._bugs.extender_answered(answer, now)
        if self._journal is not None:
            self._journal.extender_answered(answer, now)

    def _wake(self) -> None:
        self.world.wake()

    async def run_until(self, stopping: asyncio.Future[None]) -> None:
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(part) for part in self._parts()]
            election = None if self.elector is None else tasks.create_task(self._elect(self.elector, stopping))
            await asyncio.shield(stopping)
            _log.info("Requested to terminate, exiting")
            for task in work:
                task.cancel()
            await self.writer.drain(_DRAINS_WITHIN_S)
            if self.elector is not None and election is not None:
                self.elector.stop()
                await election
            if self.shadow is not None:
                _report_findings(self.shadow, self._options, self._clock())

    async def _elect(self, elector: LeaderElector, stopping: asyncio.Future[None]) -> None:
        """Only who knows the whole cluster stands for election, unless the file has it the other way round."""
        if not self._configuration.file.delay_cache_until_active:
            opened = asyncio.ensure_future(self.world.opened())
            await asyncio.wait({opened, stopping}, return_when=asyncio.FIRST_COMPLETED)
            opened.cancel()
        if not stopping.done():
            await elector.run()

    def _observers(self) -> list[LiveObserver]:
        """Who looks on."""
        counted = () if self._metrics is None else (self._metrics.watch(self.scheduler),)
        others = [
            other for other in (self._group_attempts, self._recorder, self._journal, self.shadow) if other is not None
        ]
        return [DecisionLog(self._options.verbosity), *counted, *others]

    def _parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs until it is canceled."""
        serving = [] if self.secure_port is None else [self.secure_port.run()]
        giving_way = [] if self.shadow is None else [self._give_way(self.shadow)]
        return [self.world.run(self.writer), *serving, *giving_way]

    async def _give_way(self, shadow: Shadow) -> None:
        """Reality comes first: what nobody does within its time is taken back."""
        while True:
            await asyncio.sleep(_GIVES_WAY_EVERY_S)
            try:
                for event in shadow.overdue(self._clock()):
                    self.world.answer(event)
            except Exception as error:
                self._bugs(OBSERVER, type(shadow).__name__, error)


def _metrics(disabled: Collection[str]) -> Metrics:
    from bayplan.serving.metrics.registry import Metrics  # noqa: PLC0415

    return Metrics(disabled=disabled)


def _recorder(configuration: Configuration) -> DecisionRecorder:
    from bayplan.serving.decisions import DecisionRecorder  # noqa: PLC0415

    leaves_out = "extenders" if configuration.extenders else ""
    return DecisionRecorder(build_profiles(configuration), leaves_out=leaves_out)


def _metered(client: HttpClient, metrics: Metrics | None) -> ApiClient:
    """The client with its requests counted, where there is somebody to see it."""
    return client if metrics is None else metrics.metered(client, client.host)


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


def _journal(options: RunOptions, configuration: Configuration, started_at: int) -> LiveJournal | None:
    if options.journal is None:
        return None
    from bayplan.worlds.live_journal import BYTES_PER_MB, LiveJournal  # noqa: PLC0415

    head = {"startedAt": started_at, **head_of(configuration, options.config, options.feature_gates)}
    file_bytes = int(options.journal_file_size * BYTES_PER_MB)
    return LiveJournal(
        options.journal, head, file_bytes=file_bytes, files_max=options.journal_files, on_trouble=_report
    )


def _extenders(
    configuration: Configuration, documents: KeptDocuments, note: Callable[[dict[str, Any]], None]
) -> tuple[HttpExtender, ...]:
    """Those of the configuration; what they answer is noted."""
    from bayplan.worlds.extender_journal import JournaledExtender  # noqa: PLC0415

    return connect_extenders(
        configuration.extenders, documents, partial(JournaledExtender, note=note, on_trouble=_report)
    )


def _shadow(configuration: Configuration, started_at: int) -> Shadow:
    from bayplan.worlds.shadow import Shadow  # noqa: PLC0415

    return Shadow(build_profiles(configuration), configuration.gates, started_at=started_at)


def _report_findings(shadow: Shadow, options: RunOptions, now: int) -> None:
    from bayplan.report.answers.terminal import terminal_parts  # noqa: PLC0415
    from bayplan.report.shadow.page import write_shadow_report  # noqa: PLC0415
    from bayplan.report.shadow.parts import shadow_parts  # noqa: PLC0415
    from bayplan.report.terminal import show  # noqa: PLC0415

    found = shadow.finish(now).to_dict()
    if options.shadow_report is not None:
        write_shadow_report(found, options.shadow_report)
    show(terminal_parts(shadow_parts(found)), sys.stdout)


def _announce(
    configuration: Configuration,
    elector: LeaderElector | None,
    server: str,
    server_version: str | None,
    *,
    is_shadow: bool,
) -> None:
    _log.info(
        "Running in shadow mode; nothing is written" if is_shadow else "Starting Kubernetes Scheduler",
        version=f"bayplan {version('bayplan')}",
        kubernetes=f"v{configuration.release.version}",
        server=server,
        server_version=server_version or "unknown",
        profiles=[profile.scheduler_name for profile in configuration.profiles],
        identity="" if elector is None else elector.identity,
        kinds=[kind.info.kind for kind in kinds_to_watch(configuration)],
    )


def _announce_json(connection: ClientConnection) -> None:
    """A file may ask for protobuf, which is the default of kube-scheduler's files."""
    asked = [kind for kind in (connection.content_type, connection.accept_content_types) if kind not in ("", JSON)]
    if asked:
        _log.info("Using JSON for the API server, regardless of clientConnection", asked=", ".join(asked))


def _report(message: str) -> None:
    _log.warning(message)
