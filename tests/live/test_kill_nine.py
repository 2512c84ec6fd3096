"""`bayplan run`, killed with kill -9 and started again: nothing is bound twice, nobody is forgotten."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.end_state import (
    check_bound_once,
    check_bound_where_asked,
    check_evicted_once,
    check_no_nomination_left,
    check_nobody_waits_in_vain,
    check_victims_matter_less,
)
from tests.live.processes import EAGER, SchedulerProcess, a_pod, written
from tests.live.proxy import FaultProxy
from tests.live.random_cluster import RandomCluster
from tests.live.records import Log
from tests.support.checkers import check_not_overcommitted

from bayplan.client.event_loop import run_event_loop
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.testing import LiveCluster, cluster

SEEDS = int(os.environ.get("SEEDS", "10")) // 10
FIRST = int(os.environ.get("FIRST", "2"))
LIVES = 4
REST_WITHIN_S = 60.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_a_scheduler_killed_again_and_again_binds_every_pod_once(seed: int, tmp_path: Path) -> None:
    run_event_loop(_kill_again_and_again(seed, tmp_path))


async def _kill_again_and_again(seed: int, folder: Path) -> None:
    world = RandomCluster(seed)
    proxying = FaultProxy(world.port)
    async with world, proxying as proxy, SchedulerProcess(proxy, folder) as process:
        for _ in range(LIVES - 1):
            await _until_it_writes(proxy)
            await asyncio.sleep(world.draw.random.uniform(0.0, 0.5))
            assert process.is_running, process.said
            await process.kill()
            world.history.check()
            await process.start()
        await _come_to_rest(world, process, proxy.log)
        check_bound_once(proxy.log, one_process=False)
        check_bound_where_asked(proxy.log, world.store)
        check_evicted_once(proxy.log)
        check_victims_matter_less(proxy.log, world.history.priorities)


async def _until_it_writes(proxy: FaultProxy) -> None:
    """Or has nothing to write for a while."""
    seen, ends_at = len(proxy.log.exchanges), time.time() + 5.0
    while time.time() < ends_at and all(each.method == "GET" for each in proxy.log.exchanges[seen:]):
        await asyncio.sleep(0.005)


async def _come_to_rest(world: RandomCluster, process: SchedulerProcess, log: Log) -> None:
    """Raises what is wrong if it is still wrong after all this time, unless the world goes in circles."""
    profiles = build_profiles(load_configuration(written(EAGER), release=DEFAULT_RELEASE))
    begins_at = time.time()
    while True:
        await asyncio.sleep(0.3)
        assert process.is_running, process.said
        world.history.check()
        check_not_overcommitted(world.store, world.overcommitted)
        try:
            assert time.time() > world.calm_at
            check_nobody_waits_in_vain(world.store, profiles)
            check_no_nomination_left(log, world.store)
            return
        except AssertionError:
            if world.goes_in_circles():
                return
            if time.time() > max(begins_at, world.calm_at) + REST_WITHIN_S:
                raise


SETUP = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""


@pytest.mark.slow
def test_a_preemptor_keeps_its_node_though_its_scheduler_is_killed(tmp_path: Path) -> None:
    """The next process takes the nomination from the API: nobody else is evicted, and the pod goes where it was to."""
    with cluster(nodes=2, speed=0.25, scheduler=False) as k:  # victims take four seconds to go
        run_event_loop(_keep_the_nomination(k, tmp_path))


async def _keep_the_nomination(k: LiveCluster, folder: Path) -> None:
    k.apply(SETUP)
    port = int(k.url.rpartition(":")[2])
    proxying = FaultProxy(port)
    async with proxying as proxy, SchedulerProcess(proxy, folder, token=k.token) as process:
        k.apply([a_pod(f"low-{number}", "3") for number in range(2)])
        await _until(lambda: all(_is_running(k, f"low-{number}") for number in range(2)))  # else they go at once
        k.apply(a_pod("high", "3", priorityClassName="high"))
        await _until(lambda: bool(k.get("pod", "high")["status"].get("nominatedNodeName")))
        await _until(lambda: len([*proxy.log.deletions()]) == 1)
        await process.kill()
        node = k.get("pod", "high")["status"]["nominatedNodeName"]
        await process.start()
        await _until(lambda: "nodeName" in k.get("pod", "high")["spec"])
        assert k.get("pod", "high")["spec"]["nodeName"] == node
        assert len([*proxy.log.deletions()]) == 1


def _is_running(k: LiveCluster, pod: str) -> bool:
    phase: str = k.get("pod", pod)["status"]["phase"]
    return phase == "Running"


async def _until(holds: Callable[[], bool], within_s: float = 300.0) -> None:
    async with asyncio.timeout(within_s):
        while not await asyncio.to_thread(holds):
            await asyncio.sleep(0.01)
