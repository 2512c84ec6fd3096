"""A hosted cluster in which pods come and go keeps nothing of those that are gone."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from functools import partial
from typing import Any

import pytest

from bayplan.apiserver.housekeeping.events import EVENTS
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import PODS
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model import selectors
from bayplan.model.time_units import SECOND
from bayplan.store.deleting import DeleteOptions
from bayplan.worlds import hosting
from bayplan.worlds.clock import Clock
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.starting_nodes import plain_nodes

ALIVE = 20
EVENTS_MAX = 50


class _Clock:
    """In place of the module `time`."""

    def __init__(self) -> None:
        self.now = 1_767_225_600 * SECOND

    def time_ns(self) -> int:
        return self.now


class _Churn:
    """Pods that share nothing: what is kept of one is kept of each."""

    def __init__(self, clock: _Clock, cluster: HostedCluster) -> None:
        self._clock, self._cluster = clock, cluster
        self._world = cluster._world()
        self._number = 0

    def go_on(self, pods: int) -> None:
        for _ in range(pods):
            self._clock.now += SECOND // 50
            self._number += 1
            registry = self._cluster.registry
            registry.create(PODS, "default", _pod(self._number), WriteOptions("test"), self._clock.now)
            registry.create(EVENTS, "default", _event(self._number), WriteOptions("test"), self._clock.now)
            self._world_goes_on()
            if self._number > ALIVE:
                gone = f"p{self._number - ALIVE}"
                registry.delete(PODS, "default", gone, DeleteOptions(0, None, None, None), self._clock.now)
                self._world_goes_on()

    def _world_goes_on(self) -> None:
        assert self._world._housekeeping is not None
        self._world._housekeeping.reconcile(self._clock.now)
        self._world._world.run_until(self._clock.now)


def _pod(number: int) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "10m"}}}
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    labels = {"job-name": f"p{number}"}
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": {"matchLabels": labels}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "labels": labels}, "spec": spec}


def _event(number: int) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "default", "name": f"p{number}"}
    metadata = {"name": f"e{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, "reason": "R"}


def _kinds_of_objects() -> Counter[str]:
    selectors._compile.cache_clear()  # of bounded size, but not full yet
    gc.collect()
    return Counter(f"{type(found).__module__}.{type(found).__qualname__}" for found in gc.get_objects())


def test_nothing_is_kept_of_pods_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "apiserver.housekeeping.garbage",
        "model.shared_steps",
        "worlds.event_recording",
    ):
        monkeypatch.setattr(f"bayplan.{module}.REMEMBERED_MAX", 30)
    monkeypatch.setattr("bayplan.performing.recent.KEPT_MAX", 30)
    monkeypatch.setattr("bayplan.core.columns.shapes.SPECS_KNOWN_MAX", 30)
    monkeypatch.setattr("bayplan.apiserver.registry.typed._LOG_CAPACITY", 50)
    monkeypatch.setattr(hosting, "Storage", partial(Storage, log_capacity=100))
    clock = _Clock()
    monkeypatch.setattr(hosting, "Clock", partial(Clock, clock.time_ns))
    how = Hosting(
        token="t", configuration=load_configuration(release=DEFAULT_RELEASE), speed=100.0, events_max=EVENTS_MAX
    )
    cluster = HostedCluster(how, plain_nodes(3, clock.now, release=DEFAULT_RELEASE))
    cluster._listening.close()
    churn = _Churn(clock, cluster)
    churn.go_on(200)
    assert (cluster.storage.count("pods"), cluster.storage.count("events")) == (ALIVE, EVENTS_MAX)
    before = _kinds_of_objects()
    churn.go_on(600)
    after = _kinds_of_objects()
    # Logs are cut and caches emptied now and then, so counts go up and down by some 200.
    assert {kind: count - before[kind] for kind, count in after.items() if count >= before[kind] + 400} == {}


def test_events_expire_without_controllers_too() -> None:
    cluster = HostedCluster(
        Hosting(
            token="t",
            configuration=load_configuration(release=DEFAULT_RELEASE),
            with_controllers=False,
            with_scheduler=False,
            event_ttl_ns=1,
        )
    )

    async def play() -> None:
        running = asyncio.ensure_future(cluster.run())
        await cluster.started()
        cluster.registry.create(EVENTS, "default", _event(1), WriteOptions("test"), 0)
        async with asyncio.timeout(10):
            while cluster.storage.count("events"):
                await asyncio.sleep(0.01)
        cluster.stop()
        await running

    asyncio.run(play())
