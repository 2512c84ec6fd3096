"""Random clusters of pod groups behind a proxy that cuts, delays, repeats and refuses: quorums hold, and all heals.

Nothing of a gang is asked to be bound but by an attempt that had its quorum, and every gang to which nothing has
happened is on nodes with at least as many pods as it takes, or with none. Seeds can be chosen as in `test_torture`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping

import pytest
from tests.live.end_state import check_bound_once, check_bound_where_asked, check_evicted_once
from tests.live.faults import plan_of
from tests.live.group_cluster import GATES, LASTS_S, GroupCluster
from tests.live.proxy import FaultProxy
from tests.live.torture import REST_WITHIN_S, LiveScheduler
from tests.support.checkers import check_always, check_not_overcommitted, check_pods_quiet

from bayplan.analysis.cluster import Cluster
from bayplan.client import backoff
from bayplan.client.event_loop import run_event_loop
from bayplan.config.releases import RELEASES
from bayplan.core.groups.cycle import GroupAttempt
from bayplan.core.groups.feasible import min_count
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod, group_key

FIRST = int(os.environ.get("FIRST", "113"))
SEEDS = int(os.environ.get("SEEDS", "3"))
_LOOKS_EVERY_S = 0.2
#: Longer than a group backs off.
_QUIET_S = 3.0


class Quorums:
    """Looks on while groups are tried."""

    def __init__(self) -> None:
        self.allowed: set[str] = set()  # uids of members that were placed with enough others

    def tried(self, attempt: GroupAttempt, view: View) -> None:
        if attempt.bound:
            on_nodes = len(view.pods.scheduled_members(attempt.key)) + len(attempt.bound)
            assert on_nodes >= min_count(attempt.group), f"{attempt.key}: {on_nodes} of {min_count(attempt.group)}"
            self.allowed |= {each.member.info.uid for each in attempt.bound}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_nothing_of_a_gang_is_bound_without_its_quorum_whatever_goes_wrong(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "_MAX_S", 1.0)
    run_event_loop(_torture(seed))


async def _torture(seed: int) -> None:
    cluster, quorums = GroupCluster(seed), Quorums()
    proxying = FaultProxy(cluster.port, plan=plan_of(seed, LASTS_S * 1.1))
    live = LiveScheduler(cluster.configuration, proxying, on_group_attempt=quorums.tried)
    async with cluster, proxying as proxy, live:
        while time.time() < max(cluster.calm_at, proxy.plan.until):
            await _look(cluster, live)
        await _come_to_rest(cluster, live)
        groups = _members(cluster)
        wrong = [each.pod for each in proxy.log.bindings() if each.uid in groups and each.uid not in quorums.allowed]
        assert not wrong, f"asked for without a quorum: {wrong}"
        check_bound_once(proxy.log)
        check_bound_where_asked(proxy.log, cluster.store)
        check_evicted_once(proxy.log)


async def _look(cluster: GroupCluster, live: LiveScheduler) -> None:
    await asyncio.sleep(_LOOKS_EVERY_S)
    live.check_running()
    cluster.look()
    check_always(live.scheduler)
    check_not_overcommitted(cluster.store)


async def _come_to_rest(cluster: GroupCluster, live: LiveScheduler) -> None:
    """Raises what is wrong if it is still wrong after all this time."""
    begins_at = time.time()
    while True:
        await _look(cluster, live)
        try:
            _check_at_rest(cluster, live)
            if time.time() - cluster.changed_at > _QUIET_S:
                return
        except AssertionError:
            if time.time() > begins_at + REST_WITHIN_S:
                raise
        assert time.time() < begins_at + 3 * REST_WITHIN_S, "it does not come to rest"


def _check_at_rest(cluster: GroupCluster, live: LiveScheduler) -> None:
    check_pods_quiet(cluster.store, live.scheduler)
    partly = {key: counts for key, counts in cluster.gangs().items() if 0 < counts[1] < counts[0]}
    assert not partly, f"quorum and pods on nodes: {partly}"
    objects = cluster.store.list_and_watch().objects
    placed = Cluster(objects).under(RELEASES["1.37"]).place(feature_gates=GATES)
    waiting = {each.pod: each.node for each in placed.decisions if each.node is not None}
    assert not waiting, f"waiting though they fit: {waiting}"


def _members(cluster: GroupCluster) -> Mapping[str, str]:
    """The groups of pods that are still there, by uid."""
    return {pod.metadata.uid: key for pod in cluster.store.list(Pod) if (key := group_key(pod))}
