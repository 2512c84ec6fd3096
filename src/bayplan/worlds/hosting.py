"""A whole cluster behind one address: storage, API server and embedded world, put together and run.

Takes what is to be in it and where to listen; `run` serves until `stop`. Whoever calls decides in which thread and what
happens on signals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bayplan.apiserver.admitting.plugins.switchable import NODE_TAINTS, SWITCHABLE
from bayplan.apiserver.housekeeping.contract import Housekeeper
from bayplan.apiserver.housekeeping.events import EVENTS_MAX, KEPT_NS, EventExpiry
from bayplan.apiserver.housekeeping.standard import Housekeeping, standard_parties
from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.server import Server, TlsFiles, listening_socket
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.own_kinds import serve_own_kinds
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.schema.resources import resources_with
from bayplan.apiserver.schema.versions import serving
from bayplan.apiserver.statuses.commands import PodEnd, initialization_of, pod_outcome
from bayplan.apiserver.storage.durable import InvalidState, StateFile
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.autoscaling.autoscaler import AutoscalerController
from bayplan.controllers.contract import Controller
from bayplan.controllers.nodes.kubelet import (
    Initialization,
    Kubelet,
    annotated_exit_codes,
    annotated_run_seconds,
)
from bayplan.controllers.standard import standard_controllers
from bayplan.core.scheduler import Scheduler
from bayplan.model.errors import InvalidObject
from bayplan.model.pod import Pod
from bayplan.model.reading import SourcedDocument
from bayplan.store import ApiError
from bayplan.worlds.bootstrap import add_missing_accounts, bootstrap, create
from bayplan.worlds.bug_reports import BugReports
from bayplan.worlds.bugs import HOUSEKEEPING, BugReporter, not_survived
from bayplan.worlds.clock import Clock
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.embedded import EmbeddedWorld, NoScheduler, embedded_latencies
from bayplan.worlds.kubelet_events import KubeletEvents
from bayplan.worlds.starting_documents import load

#: So often a part of the state file's free space is given back, if there is much of it.
_COMPACT_SECONDS = 1.0
#: Addresses that mean all of a machine's, and how the machine itself reaches them.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a cluster is to be run."""

    token: str
    configuration: Configuration
    host: str = "127.0.0.1"
    port: int = 0
    state: Path | None = None
    speed: float = 1.0
    latencies: Latencies = field(default_factory=Latencies)
    """How long kubelets take at a speed of 1."""
    with_scheduler: bool = True
    with_controllers: bool = True
    tls: TlsFiles | None = None
    plain_too: bool = False
    """Whether clients may also come without TLS, to the same address."""
    event_ttl_ns: int = KEPT_NS
    events_max: int = EVENTS_MAX
    disabled_plugins: frozenset[str] = frozenset()
    """Admission plugins that are off, of those in `SWITCHABLE`."""
    bugs: BugReports | None = None
    """Who is told of bugs that are survived; without it they end the cluster."""


class HostedCluster:
    """A cluster that can be served.

    Raises OSError if its address is taken, InvalidState for a bad file, InvalidObject for objects that are refused.

    Args:
        hosting: how to run it.
        documents: what it begins with, if it has no state from before.
        written: what is to be in it in any case, as users wrote it.
        front: makes the ASGI application that answers, given the cluster; without it the API alone does.
    """

    def __init__(
        self,
        hosting: Hosting,
        documents: Iterable[Document] = (),
        written: Iterable[SourcedDocument] = (),
        front: Callable[[HostedCluster], Any] | None = None,
    ) -> None:
        self._hosting = hosting
        self.clock = Clock()
        self._state = None if hosting.state is None else StateFile(hosting.state)
        self.storage = Storage(durable=self._state)
        self.gates = hosting.configuration.changed_gates
        built_in = resources_with([gate for gate, is_on in self.gates.items() if is_on], self.kubernetes_version)
        self.registry = Registry(self.storage, Catalogue(built_in))
        serve_own_kinds(self.registry)
        with serving(self.kubernetes_version, self.gates), ExitStack() as on_failure:
            if self._state is not None:
                on_failure.callback(self._state.close)
                self.storage.restore(self._state.objects(), self._state.changes())
                self._restore_registry(hosting.state)
            self._listening = listening_socket(hosting.host, hosting.port)
            on_failure.callback(self._listening.close)
            self.port: int = self._listening.getsockname()[1]
            self._fill(documents, written)
            on_failure.pop_all()
        address = f"{hosting.host}:{self.port}"
        self.application = Application(
            self.registry,
            hosting.token,
            self.clock,
            address,
            hosting.configuration.release,
            gates=self.gates,
            with_metrics=hosting.with_controllers,
        )
        self.scheduler: Scheduler | None = None
        self._running: EmbeddedWorld | None = None
        self._started_at = self.clock()
        if hosting.with_scheduler:
            self.scheduler = build_scheduler(hosting.configuration, started_at=self._started_at)
        self._server = Server(
            self.application if front is None else front(self),
            self._listening,
            hosting.tls,
            plain_too=hosting.plain_too,
        )

    @property
    def kubernetes_version(self) -> str:
        """As `/version` and the scheduler have it: `1.36`."""
        return self._hosting.configuration.release.version

    def _restore_registry(self, path: Path | None) -> None:
        try:
            self.registry.restore(self.clock())
        except (ApiError, InvalidObject, KeyError, TypeError, ValueError) as error:
            raise InvalidState(f"{path}: damaged: {error}") from None

    def _fill(self, documents: Iterable[Document], written: Iterable[SourcedDocument]) -> None:
        is_new = self.storage.version == 0
        bootstrap(self.registry, _reached_at(self._hosting.host), self.port, self.clock())
        if is_new:
            for document in documents:
                create(self.registry, document, self.clock())
        load(self.registry, written, self.clock())
        # What a cluster begins with was admitted elsewhere.
        self.registry.plugins = frozenset(SWITCHABLE) - self._disabled_plugins()
        add_missing_accounts(self.registry, self.clock())

    def _disabled_plugins(self) -> frozenset[str]:
        """Without controllers nobody would take from new nodes what they are tainted with."""
        useless = frozenset[str]() if self._hosting.with_controllers else frozenset({NODE_TAINTS})
        return self._hosting.disabled_plugins | useless

    @property
    def url(self) -> str:
        """Where browsers find the cluster: without TLS, if that is possible."""
        return self._url("http" if self._hosting.tls is None or self._hosting.plain_too else "https")

    @property
    def kubeconfig_url(self) -> str:
        """Where clients with a kubeconfig find it: with TLS, if that is possible."""
        return self._url("http" if self._hosting.tls is None else "https")

    def _url(self, scheme: str) -> str:
        host = _reached_at(self._hosting.host)
        return f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"

    async def run(self) -> None:
        """Serves and lets the world go on, until `stop`."""
        with serving(self.kubernetes_version, self.gates):
            await self._run()

    async def _run(self) -> None:
        world = self._running = self._world()
        living = asyncio.ensure_future(world.run())
        compacting = asyncio.ensure_future(self._compact_state())
        answering = asyncio.ensure_future(self._server.serve())
        try:
            await asyncio.wait({living, answering}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            for task in (living, compacting):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await answering
            if self._hosting.bugs is not None:
                self._hosting.bugs.finish()
            if self._state is not None:
                self._state.close()

    async def _compact_state(self) -> None:
        """Until cancelled."""
        while self._state is not None:
            await asyncio.sleep(_COMPACT_SECONDS)
            self._state.compact()

    async def started(self) -> None:
        """Returns once requests are answered."""
        await self._server.started()

    def set_time(self, *, rate: float | None = None, advance_ns: int = 0) -> None:
        """Puts the clock forward, or lets it go at another rate; what is due then is done at once."""
        if rate is not None:
            self.clock.set_rate(rate)
        self.clock.advance(advance_ns)
        if self._running is not None:
            self._running.wake()

    def stop(self) -> None:
        self._server.stop()

    def _world(self) -> EmbeddedWorld:
        hosting = self._hosting
        draws = Draws(0, embedded_latencies(hosting.speed, hosting.latencies))
        on_bug: BugReporter = not_survived if hosting.bugs is None else hosting.bugs
        parties: list[Housekeeper] = []
        if hosting.with_controllers:
            parties = standard_parties("" if hosting.tls is None else hosting.tls.certificate.read_text("ascii"))
            parties.append(KubeletEvents(self.registry))
        expiry = EventExpiry(hosting.event_ttl_ns, hosting.events_max)
        return EmbeddedWorld(
            self.registry,
            self._driven(),
            partial(self._controllers, draws) if hosting.with_controllers else list,
            draws,
            self.clock,
            housekeeping=Housekeeping(self.registry, parties, expiry, partial(on_bug, HOUSEKEEPING)),
            on_bug=on_bug,
        )

    def _controllers(self, draws: Draws) -> list[Controller]:
        """Garbage and namespaces are housekeeping here, as they concern kinds that no struct stands for."""
        gates = self._hosting.configuration.gates
        standard = standard_controllers(draws, gates, self._kubelet(draws), has_users=True)
        return [*replace(standard, collectors=(), autoscaler=self._autoscaler(draws))]

    def _autoscaler(self, draws: Draws) -> AutoscalerController:
        """Idle until there are pools."""
        hosting = self._hosting
        return AutoscalerController(
            build_profiles(hosting.configuration),
            lambda typical: draws.around(int(typical / hosting.speed)),
            Random(0),
            hosting.configuration.gates,
        )

    def _kubelet(self, draws: Draws) -> Kubelet:
        """Kubelets that know the commands of containers, and refuse what does not fit."""

        def document_of(pod: Pod) -> Document | None:
            return self.registry.find(PODS, pod.metadata.namespace, pod.metadata.name)

        def outcome(pod: Pod) -> PodEnd | None:
            document = document_of(pod)
            return None if document is None else pod_outcome(document)

        def run_seconds(pod: Pod) -> float | None:
            annotated = annotated_run_seconds(pod)
            if annotated is not None:
                return annotated
            known = outcome(pod)
            return None if known is None else known.seconds

        def exit_codes(pod: Pod) -> Mapping[str, int]:
            known = outcome(pod)
            return annotated_exit_codes(pod) or ({} if known is None else known.exit_codes)

        def initialization(pod: Pod) -> Initialization | None:
            document = document_of(pod)
            return None if document is None else initialization_of(document)

        return Kubelet(draws, run_seconds, exit_codes, initialization, is_strict=True)

    def _driven(self) -> DecidingScheduler:
        if self.scheduler is None:
            return NoScheduler()
        bugs = self._hosting.bugs
        return self.scheduler if bugs is None else bugs.guard(self.scheduler, self._started_at)


def _reached_at(host: str) -> str:
    """Where clients on this machine find a server that listens at this address."""
    return _EVERYWHERE.get(host, host)
