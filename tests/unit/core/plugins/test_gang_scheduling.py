"""GangScheduling: what lets a gang in again, and how long its pods wait for each other at Permit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.framework.contract import Wait, WaitingPod
from bayplan.core.framework.verdict import Status
from bayplan.core.plugins.gang_scheduling import (
    PERMIT_TIMEOUT_NS,
    GangScheduling,
    after_group_added,
    after_group_updated,
    after_pod_added,
)
from bayplan.model.groups import EmptyPart, GangPolicy, GroupSchedulingPolicy, PodGroup, PodGroupSpec
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.testing import builders as make


def group(name: str, min_count: int | None) -> PodGroup:
    gang = None if min_count is None else GangPolicy(min_count=min_count)
    basic = EmptyPart() if min_count is None else None
    spec = PodGroupSpec(scheduling_policy=GroupSchedulingPolicy(basic=basic, gang=gang))
    return PodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def member(name: str, of: str) -> Pod:
    pod = make.pod(name).obj()
    pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name=of) if of else None
    return pod


CACHE = Cache(gates=DEFAULT_GATES)


@pytest.mark.parametrize(("of", "other", "helps"), [("g", "g", True), ("g", "h", False), ("", "", False)])
def test_a_pod_of_the_same_group_may_be_the_one_that_was_missing(of: str, other: str, helps: bool) -> None:
    assert after_pod_added(CACHE.info(member("a", of)), None, member("b", other)) is helps


def test_the_group_itself_helps() -> None:
    assert after_group_added(CACHE.info(member("a", "g")), None, group("g", 1))
    assert not after_group_added(CACHE.info(member("a", "g")), None, group("h", 1))


@pytest.mark.parametrize(
    ("before", "after", "helps"), [(3, 2, True), (2, 2, False), (2, 3, False), (None, 2, False), (2, None, False)]
)
def test_a_smaller_quorum_helps(before: int | None, after: int | None, helps: bool) -> None:
    info = CACHE.info(member("a", "g"))
    assert after_group_updated(info, group("g", before), group("g", after)) is helps


def permitted(min_count: int | None, *, on_nodes: int) -> Status | Wait:
    cache = Cache(replace(DEFAULT_GATES, generic_workload=True))
    cache.add(make.node("n").obj())
    if min_count != 0:
        cache.add(group("g", min_count))
    infos = [cache.add_pod(member(f"p{number}", "g"), "n") for number in range(on_nodes)]
    return GangScheduling().permit(infos[-1], cache.view(), 0)


def test_pods_wait_until_enough_of_their_gang_have_a_node() -> None:
    assert permitted(3, on_nodes=2) == Wait(PERMIT_TIMEOUT_NS)
    for answer in (permitted(2, on_nodes=2), permitted(None, on_nodes=1)):
        assert isinstance(answer, Status)
        assert answer.ok


def test_a_pod_whose_group_is_missing_fails() -> None:
    answer = permitted(0, on_nodes=1)
    assert isinstance(answer, Status)
    assert answer.message.startswith("failed to get podGroup default/g: ")


def test_all_that_wait_go_on_together() -> None:
    cache = Cache(replace(DEFAULT_GATES, generic_workload=True))
    cache.add(make.node("n").obj())
    cache.add(group("g", 2))
    cache.add(group("h", 2))
    waiting = [WaitingPod(cache.add_pod(member(name, name[0]), "n"), 0) for name in ("g1", "g2", "h1")]
    answers = GangScheduling().answer_waiting(waiting, cache.view())
    assert {key: status.ok for key, status in answers.items()} == {"default/g1": True, "default/g2": True}
