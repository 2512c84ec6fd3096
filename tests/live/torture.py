"""One seed's torture: a random cluster, a live scheduler, and a proxy between them that lets requests go wrong.

Takes a seed. Things happen in the cluster while requests go wrong; then the proxy is clean, nobody begins anything, and
all must come to rest long before the queue's periodic flush would help: within REST_WITHIN_S. A seed that fails is a
bug report. The scheduler is put together as `bayplan run` does it, but in the test's own event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace as replace_fields
from typing import Self

from tests.live.end_state import (
    check_bound_once,
    check_bound_where_asked,
    check_evicted_once,
    check_no_nomination_left,
    check_victims_matter_less,
    waiting_in_vain,
)
from tests.live.faults import plan_of
from tests.live.proxy import FaultProxy
from tests.live.random_cluster import TOKEN, RandomCluster
from tests.support.checkers import (
    SLEEPERS,
    check_always,
    check_devices_not_shared,
    check_not_overcommitted,
    check_pods_quiet,
    check_settled,
    looked_up,
)

from bayplan.client.connection import Connection, Credential, FixedCredentials, address_of
from bayplan.client.credentials import bearer
from bayplan.client.http import HttpClient
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Limits, Writer
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.groups.scheduling import AttemptObserver
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import Objects
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.store import Store
from bayplan.worlds.bugs import not_survived
from bayplan.worlds.guarded import GuardedScheduler
from bayplan.worlds.live import LiveWorld, SystemClock

#: The queue tries everything again after five minutes; whatever has come right before then has been woken.
REST_WITHIN_S = 20.0
#: Of the cluster's own time, which passes more slowly than planned on a busy machine.
_CLUSTER_REST_NS = 90 * SECOND
_LOOKS_EVERY_S = 0.2
#: How much of the time in which things happen requests may go wrong.
_TROUBLED_SHARE = 1.1


class Torture:
    """One seed's cluster, proxy and scheduler, while they run."""

    def __init__(self, cluster: RandomCluster, proxy: FaultProxy, live: LiveScheduler) -> None:
        self.cluster = cluster
        self.proxy = proxy
        self.scheduler = live.scheduler
        self._live = live

    async def live_through(self) -> None:
        """To the end of all trouble."""
        while time.time() < max(self.cluster.calm_at, self.proxy.plan.until):
            await asyncio.sleep(_LOOKS_EVERY_S)
            self.check_on_the_way()

    async def come_to_rest(self) -> None:
        """Raises what is wrong if it is still wrong after all this time.

        Where the world goes in circles, as upstream's do, it never comes to rest; but each pod gets its turn.
        """
        begins_at, cluster_rests_at = time.time(), self.cluster.clock() + _CLUSTER_REST_NS
        version, stuck = -1, self._unsettled()
        while True:
            await asyncio.sleep(_LOOKS_EVERY_S)
            self.check_on_the_way()
            version, before = self.cluster.store.log.resource_version, version
            stuck = self._unsettled() & stuck if time.time() > begins_at + REST_WITHIN_S / 2 else self._unsettled()
            try:
                self.check_at_rest()
                if version == before:
                    return
            except AssertionError:
                if time.time() < begins_at + REST_WITHIN_S or self.cluster.clock() < cluster_rests_at:
                    continue
                if stuck or not self.cluster.goes_in_circles():
                    raise
                return

    def _unsettled(self) -> set[str]:
        """The uids of pods that are on their way to a node, or should be."""
        store, scheduler = self.cluster.store, self.scheduler
        asleep = set()
        if scheduler.wakeups is Wakeups.UPSTREAM:
            asleep = {each.key for each in scheduler.queue.queued_pods() if not SLEEPERS.isdisjoint(each.rejectors)}
        waiting = waiting_in_vain(store, scheduler.profiles, scheduler.cache.gates).keys() - asleep
        keys = waiting | set(scheduler.pods_on_the_way())
        return {pod.metadata.uid for pod in store.list(Pod) if object_key(pod) in keys}

    def check_on_the_way(self) -> None:
        """What holds at any time."""
        self._live.check_running()
        store, gates = self.cluster.store, self.scheduler.cache.gates
        check_always(self.scheduler)
        check_not_overcommitted(store, self.cluster.overcommitted, gates)
        check_devices_not_shared(store)
        self.cluster.history.check()

    def check_at_rest(self) -> None:
        store = self.cluster.store
        check_pods_quiet(store, self.scheduler)
        check_versions(store, self.scheduler)
        check_settled(store, self.scheduler)
        check_no_nomination_left(self.proxy.log, store)

    def check_what_was_asked(self) -> None:
        log = self.proxy.log
        check_bound_once(log)
        check_bound_where_asked(log, self.cluster.store)
        check_evicted_once(log)
        check_victims_matter_less(log, self.cluster.history.priorities)


def check_versions(store: Store, scheduler: Scheduler) -> None:
    """What plugins look up is as new as what is stored, and there is no more and no less of it."""
    known = {(type(obj).__name__, object_key(obj)): obj for obj in looked_up(scheduler.cache.objects)}
    stored = Objects(gates=DEFAULT_GATES)
    for obj in store.list_and_watch().objects:
        stored.put(obj)
    newest = {(type(obj).__name__, object_key(obj)): obj for obj in looked_up(stored)}
    wrong = {key for key in known.keys() | newest.keys() if _version(known.get(key)) != _version(newest.get(key))}
    assert not wrong, f"not known as they are stored: {sorted(wrong)}"


def _version(obj: Object | None) -> str:
    return "none" if obj is None else obj.metadata.resource_version


@asynccontextmanager
async def tortured(seed: int) -> AsyncIterator[Torture]:
    cluster = RandomCluster(seed)
    configuration = configuration_of(cluster)
    plan = plan_of(seed, cluster.lasts_s * _TROUBLED_SHARE)
    proxying = FaultProxy(cluster.port, plan=plan)
    async with cluster, proxying as proxy, LiveScheduler(configuration, proxying) as live:
        yield Torture(cluster, proxy, live)


def configuration_of(cluster: RandomCluster) -> Configuration:
    """As the cluster's character has it, with short backoffs."""
    character = cluster.character
    loaded = load_configuration(character.configuration, character.feature_gates, release=DEFAULT_RELEASE)
    return replace_fields(loaded, wakeups=character.wakeups, pod_initial_backoff_seconds=1, pod_max_backoff_seconds=2)


class LiveScheduler:
    """A scheduler at work on the API server behind a proxy, while its block lasts."""

    def __init__(
        self,
        configuration: Configuration,
        proxy: FaultProxy,
        may_decide: Callable[[], bool] = lambda: True,
        on_group_attempt: AttemptObserver | None = None,
    ) -> None:
        self._configuration = configuration
        self._proxy = proxy
        self._may_decide = may_decide
        self._clock = SystemClock()
        self.scheduler = build_scheduler(configuration, started_at=self._clock(), on_group_attempt=on_group_attempt)

    async def __aenter__(self) -> Self:
        credentials = FixedCredentials(Credential(bearer(TOKEN)))
        self._client = HttpClient(Connection(address_of(self._proxy.url), credentials=credentials))
        kinds = kinds_to_watch(self._configuration)
        driven = GuardedScheduler(self.scheduler, not_survived)  # as `bayplan run` has it, but a bug fails the test
        world = LiveWorld(driven, self._client, kinds, clock=self._clock, may_decide=self._may_decide)
        self._writer = Writer(self._client, world.find, world.answer, limits=Limits(0))
        self._running = asyncio.ensure_future(world.run(self._writer))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._writer.drain(0.5)
        await self._client.close()

    def check_running(self) -> None:
        if self._running.done():
            raise AssertionError("the scheduler has ended") from self._running.exception()
