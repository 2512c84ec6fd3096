"""A cluster without a scheduler, served over HTTP, to which random things happen: `RandomWorld`'s, in real time.

Takes a seed; what is in the cluster and what happens in it comes from the tables of `bayplan.testing.random_*`. Its
own clock runs faster than the wall's, so that minutes pass in seconds. All its controllers run; who schedules, and
through which proxy, is the test's business.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace as replace_fields
from functools import partial
from typing import Self, TypeVar

from tests.random_worlds.changes import create_workload, draw_change
from tests.random_worlds.character import IMAGES, PRIORITIES, Character, draw_character
from tests.random_worlds.cluster import draw_furniture
from tests.random_worlds.draw import Draw
from tests.random_worlds.pods import CONSTRAINTS
from tests.random_worlds.targets import Change

from bayplan.analysis.simulation.inputs.command_runner import CommandRunner, PlannedCommands
from bayplan.analysis.simulation.inputs.commands import Command, Cordon, PlannedCommand
from bayplan.apiserver.housekeeping.standard import Housekeeping
from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.server import Server, listening_socket
from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.controllers.standard import standard_controllers
from bayplan.model.kinds import KINDS, Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodSpec
from bayplan.model.resource_claims import ResourceSlice
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.workloads import CronJob, Job
from bayplan.store import ApiError, NotFound, Store
from bayplan.worlds.bootstrap import bootstrap
from bayplan.worlds.clock import Clock
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.embedded import EmbeddedWorld, NoScheduler, embedded_latencies
from bayplan.worlds.simulated import SimulatedWorld

ObjectT = TypeVar("ObjectT", bound=Object)
TOKEN = "secret"
#: How long things happen, in seconds of the wall, and how much faster the cluster's clock runs at least.
_LASTS_S = 6.0
_SPEED_MIN = 10
#: Where so many pods come so long after anybody did anything, pods go in circles.
_CALM_S = 6.0
_AHEAD_MAX_NS = SECOND
_LATECOMERS_MAX = 5


class RandomCluster:
    """One seed's cluster; it serves while its block lasts, and things happen in it until `calm_at`."""

    def __init__(self, seed: int) -> None:
        self.draw = Draw(seed)
        self.character: Character = draw_character(self.draw, [constraint.__name__ for constraint in CONSTRAINTS])
        self._started_at = time.time_ns()
        self._speed = max(_SPEED_MIN, round(self.character.seconds / _LASTS_S))
        self.lasts_s = self.character.seconds / self._speed
        self.calm_at = float("inf")  # seconds of the wall
        self._held_back = 0
        self.failed: list[str] = []
        self.overcommitted: set[str] = set()
        self._simulated: SimulatedWorld | None = None
        self.registry = Registry(Storage(), Catalogue())
        self._listening = listening_socket("127.0.0.1", 0)
        self.port: int = self._listening.getsockname()[1]
        bootstrap(self.registry, "127.0.0.1", self.port, self.clock())
        self.store: Store = _Users(self.registry, "kubectl")
        self.history = PodHistory(self.store)
        for obj in draw_furniture(self.draw, self.character):
            with suppress(ApiError):  # two of one name
                self.store.create(obj, self.clock())
        application = Application(self.registry, TOKEN, self.clock, f"127.0.0.1:{self.port}", release=DEFAULT_RELEASE)
        self._server = Server(application, self._listening)
        self._embedded = self._world(seed)

    def _world(self, seed: int) -> EmbeddedWorld:
        draws = Draws(seed, embedded_latencies(1.0, Latencies()))
        controllers = replace_fields(standard_controllers(draws, DEFAULT_GATES), collectors=())
        housekeeping = Housekeeping(self.registry)
        world = EmbeddedWorld(
            self.registry, NoScheduler(), lambda: [*controllers], draws, Clock(self.clock), housekeeping=housekeeping
        )
        self._simulated = simulated = world._world
        runner = CommandRunner(simulated, controllers.kubelet, controllers.lifecycle)
        self._commands = PlannedCommands(runner, self._started_at)
        return world

    def clock(self) -> int:
        """The cluster's time. Waits for the controllers where they cannot keep up."""
        now = self._started_at + (time.time_ns() - self._started_at) * self._speed - self._held_back
        if self._simulated is not None:
            ahead = max(0, now - self._simulated.now - _AHEAD_MAX_NS)
            self._held_back += ahead
            now -= ahead
        return now

    async def __aenter__(self) -> Self:
        self._plan()
        self._running = [asyncio.ensure_future(each) for each in (self._embedded.run(), self._server.serve())]
        await self._server.started()
        return self

    async def __aexit__(self, *_: object) -> None:
        living, serving = self._running
        self._server.stop()
        living.cancel()
        with suppress(asyncio.CancelledError):
            await living
        await serving

    def _plan(self) -> None:
        start, seconds = self._started_at, self.character.seconds
        assert self._simulated is not None
        for _ in range(self.character.workloads):
            self._simulated.at(start, partial(self._do, create_workload))
        self._simulated.at(start + 2 * SECOND, self._raise_stakes)
        for _ in range(self.character.changes):
            at = start + self.draw.number(0, seconds * 1000) * SECOND // 1000
            self._simulated.at(at, lambda now: self._do(draw_change(self.draw, self.character.emphasis), now))
        self._simulated.at(start + seconds * SECOND, self._calm_down)

    def goes_in_circles(self) -> bool:
        """Whether pods come and go without end, as upstream.

        A preemptor and the recreated victims push each other out; pods are evicted from a device with a taint, and
        recreated; or a Deployment's pods end after a while.
        """
        self.history.read()
        times = self.history.first_seen_at.values()
        return sum(at > self.calm_at + _CALM_S for at in times) > _LATECOMERS_MAX

    def command(self, command: Command, now: int) -> None:
        """As a simulation does it: at once, and a refusal is only noted."""
        self._commands.plan(PlannedCommand(now - self._started_at, command))

    def _raise_stakes(self, now: int) -> None:
        """The first pods have found their nodes: here come those that want them more."""
        self.character.priorities = ("", *PRIORITIES)

    def _calm_down(self, now: int) -> None:
        """From here on nobody begins anything: what should come to rest can."""
        self.calm_at = time.time()
        self.command(Cordon(tuple(node.metadata.name for node in self.store.list(Node)), unschedulable=False), now)
        for cron_job in self.store.list(CronJob):
            meta, spec = cron_job.metadata, replace(cron_job.spec, suspend=True)
            self.store.modify(CronJob, meta.namespace, meta.name, partial(replace, spec=spec), now)
        for resource_slice in self.store.list(ResourceSlice):
            # A device that never gets ready is tried again and again.
            meta = replace(resource_slice.metadata, annotations={})
            self.store.modify(ResourceSlice, "", meta.name, partial(replace, metadata=meta), now)

    def _do(self, change: Change, now: int) -> None:
        with suppress(ApiError):  # users too are refused now and then
            if change(self, now):
                self.draw.note("change", change)


class _Users(ProjectedStore):
    """Completes what simulations can do without, but an API server insists on."""

    def create(self, obj: ObjectT, now: int) -> ObjectT:
        info = KINDS[type(obj).__name__]
        if self._registry.catalogue.of_kind(info.api_version, info.kind) is None:
            raise NotFound.no_resource()
        for spec in _pod_specs(obj):
            for container in (*spec.containers, *spec.init_containers):
                container.image = container.image or IMAGES[0]
            if isinstance(obj, Job | CronJob) and spec.restart_policy != "OnFailure":
                spec.restart_policy = "Never"
        return super().create(obj, now)


def _pod_specs(obj: Object) -> list[PodSpec]:
    match obj:
        case Pod():
            return [obj.spec]
        case CronJob():
            return [obj.spec.job_template.spec.template.spec]
        case _:
            template = getattr(getattr(obj, "spec", None), "template", None)
            return [] if template is None else [template.spec]


class PodHistory:
    """What is known of every pod that there ever was, by uid, from the server's own watch log."""

    def __init__(self, store: Store) -> None:
        self._cursor = store.log.cursor(kinds=["Pod"])
        self.priorities: dict[str, int] = {}
        self.nodes: dict[str, set[str]] = {}
        self.first_seen_at: dict[str, float] = {}  # seconds of the wall

    def read(self) -> None:
        """To be called often enough that the log has not forgotten what is still to be read."""
        for event in self._cursor.read():
            pod = event.new
            assert isinstance(pod, Pod)
            uid = pod.metadata.uid
            self.first_seen_at.setdefault(uid, time.time())
            self.priorities[uid] = pod.spec.priority or 0
            if pod.spec.node_name:
                self.nodes.setdefault(uid, set()).add(pod.spec.node_name)

    def check(self) -> None:
        """No pod was ever seen on two nodes."""
        self.read()
        moved = {uid: nodes for uid, nodes in self.nodes.items() if len(nodes) > 1}
        assert not moved, f"on several nodes: {moved}"
