"""When pods are sure to find no place, and when that has to be tried."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.audit.certain_misfits import CertainMisfits
from bayplan.core.cache import Cache
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

FULL = [make.node(name).capacity(cpu="4", memory="8Gi", pods="10") for name in "ab"]
TAKEN = [make.pod(f"on-{name}").cpu("3").memory("7Gi").priority(5).running(name) for name in "ab"]
SAMPLING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 50,
    "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}],
}


def certain_misfits_in(*built: Any, config: Any = None) -> tuple[CertainMisfits, Cache]:
    asking = Asking.about(Cluster([each.obj() for each in built]), config)
    cache = asking.cache()
    return CertainMisfits(asking, cache), cache


def large() -> PodBuilder:
    return make.pod("p").cpu("2").priority(5)


@pytest.mark.parametrize(
    ("pod", "sure"),
    [
        (large(), True),
        (make.pod("p").memory("2Gi").priority(5), True),
        (make.pod("p").cpu("1").memory("1Gi").priority(5), False),
        (make.pod("p").priority(5), False),
        (large().priority(6), False),
        (large().gate("later"), False),
        (large().resource_claim("gpu", "g"), False),
    ],
    ids=["cpu", "memory", "has room", "asks for nothing", "may evict", "is held back", "has claims"],
)
def test_pods_that_are_sure_to_find_no_place(pod: PodBuilder, sure: bool) -> None:
    asked, cache = certain_misfits_in(*FULL, *TAKEN)
    assert asked.is_sure(cache.info(pod.obj())) is sure


def test_a_node_may_have_no_place_for_another_pod() -> None:
    node = make.node("a").capacity(cpu="4", pods="1")
    asked, cache = certain_misfits_in(node, make.pod("on-a").priority(5).running("a"))
    assert asked.is_sure(cache.info(make.pod("p").priority(5).obj()))


@pytest.mark.parametrize(
    ("roomy", "sure"),
    [
        (make.node("c").capacity(cpu="4"), False),
        (make.node("c").capacity(cpu="4").taint("dedicated", "gpu"), True),
        (make.node("c").capacity(cpu="4").unschedulable(), True),
    ],
    ids=["open", "tainted", "cordoned"],
)
def test_room_counts_on_nodes_that_the_pod_may_use(roomy: Any, sure: bool) -> None:
    asked, cache = certain_misfits_in(*FULL, *TAKEN, roomy)
    assert asked.is_sure(cache.info(large().obj())) is sure


def test_the_only_node_with_room_may_be_the_one_that_fails() -> None:
    asked, cache = certain_misfits_in(*FULL, TAKEN[0])
    info = cache.info(large().obj())
    assert [asked.is_sure(info), asked.is_sure(info, "a"), asked.is_sure(info, "b")] == [False, False, True]


def test_room_that_comes_in_a_trial_counts_until_it_is_undone() -> None:
    asked, cache = certain_misfits_in(*FULL, *TAKEN)
    info = cache.info(large().obj())
    before = asked.is_sure(info)
    with cache.trial():
        cache.remove_pod("default/on-a")
        during = asked.is_sure(info)
    assert (before, during, asked.is_sure(info)) == (True, False, True)


def test_a_node_that_was_gone_when_such_a_pod_was_first_seen_counts_once_it_is_back() -> None:
    asked, cache = certain_misfits_in(*FULL, TAKEN[0])
    info = cache.info(large().obj())
    with cache.trial():
        cache.remove_node("b")
        assert asked.is_sure(info)
    assert not asked.is_sure(info)


def test_nothing_is_sure_of_other_profiles() -> None:
    asked, cache = certain_misfits_in(*FULL, *TAKEN, config=SAMPLING)
    assert not asked.is_sure(cache.info(large().obj()))
