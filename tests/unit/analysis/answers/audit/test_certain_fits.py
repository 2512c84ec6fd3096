"""When pods are sure of another place, and when that has to be tried."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.audit.certain_fits import CertainFits
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NODES = [make.node(name).zone("east" if name < "c" else "west") for name in "abcd"]


def certain_fits_in(*built: Any, config: Any = None) -> tuple[CertainFits, Any]:
    asking = Asking.about(Cluster([each.obj() for each in built]), config)
    cache = asking.cache()
    return CertainFits(asking, cache), cache


def plain(name: str) -> PodBuilder:
    return make.pod(name).labels(app=name).cpu("3")


@pytest.mark.parametrize(
    ("first", "second", "sure"),
    [
        (plain("x"), plain("y"), True),
        (plain("x"), plain("y").pod_anti_affinity(HOST, "app=x"), True),
        (plain("x"), plain("y").pod_anti_affinity(ZONE, "app=z"), True),
        (plain("x"), plain("y").pod_anti_affinity(ZONE, "app=x"), False),
        (plain("x").pod_anti_affinity(ZONE, "app=y"), plain("y"), False),
        # A pod that its own affinity selects may go anywhere, but only while nobody else is selected.
        (plain("x"), plain("y").labels(app="x").pod_affinity(ZONE, "app=x"), False),
        (plain("x"), plain("y").pod_affinity(ZONE, "app=z"), True),
        (plain("x"), plain("y").spread(ZONE, "app=y"), True),
        (plain("x"), plain("y").spread(ZONE, "app=x"), False),
        (plain("x").claim("c"), plain("y").claim("c"), False),
        (plain("x").claim("c"), plain("y"), True),
        (plain("x").gate("later"), plain("y"), False),
        (plain("x").resource_claim("gpu", "g"), plain("y"), False),
        (plain("x").ephemeral("tmp"), plain("y"), False),
    ],
)
def test_pods_that_matter_to_others_beyond_their_node(first: PodBuilder, second: PodBuilder, sure: bool) -> None:
    asked, cache = certain_fits_in(*NODES)
    assert asked.may_be_sure([cache.info(each.obj()) for each in (first, second)]) is sure


def test_what_is_known_of_pods_that_are_gone_is_not_said_of_others() -> None:
    """Ids of shapes are used again."""
    asked, cache = certain_fits_in(*NODES)
    gone = [cache.info(plain("x").obj()) for _ in range(2)]
    assert asked.may_be_sure(gone)
    used_id = gone[0].shape.id
    del gone
    spread = [cache.info(plain("x").spread(ZONE, "app=x").obj()) for _ in range(2)]
    assert spread[0].shape.id == used_id, "a test of nothing"
    assert not asked.may_be_sure(spread)


@pytest.mark.parametrize(("pods", "sure"), [(3, True), (4, False)])
def test_there_must_be_a_node_for_each_pod_before_it(pods: int, sure: bool) -> None:
    asked, cache = certain_fits_in(*NODES)
    infos = [cache.info(plain(f"p{number}").obj()) for number in range(pods)]
    assert asked.is_sure_before("a", infos) is sure


@pytest.mark.parametrize(
    ("pattern", "pods", "fit"),
    [
        (plain("x"), 4, True),
        (plain("x"), 5, False),
        (plain("x").spread(ZONE, "app=z"), 4, True),
        (plain("x").spread(ZONE, "app=z"), 5, False),
        (plain("x").spread(ZONE, "app=x"), 2, False),
        (plain("x").cpu("300"), 1, False),
    ],
)
def test_identical_pods_fit_where_there_is_a_node_for_each(pattern: PodBuilder, pods: int, fit: bool) -> None:
    asked, cache = certain_fits_in(*NODES)
    assert asked.all_fit([cache.info(pattern.obj()) for _ in range(pods)]) is fit


def test_pods_that_need_others_are_looked_at_without_the_node() -> None:
    asked, cache = certain_fits_in(*NODES, make.pod("db").labels(app="db").running("a"))
    near = [cache.info(make.pod("x").pod_affinity(HOST, "app=db").obj())]
    assert asked.is_sure_before("b", near) is None
    assert asked.is_sure_after(near)
    cache.remove_pod("default/db")
    assert not asked.is_sure_after(near)


def test_nodes_that_share_a_hostname() -> None:
    asked, cache = certain_fits_in(*NODES, make.node("e").label(HOST, "a"))
    assert not asked.may_be_sure([cache.info(plain("x").obj())])


def test_nominated_pods_and_other_configurations_are_left_to_trials() -> None:
    info = plain("x").obj()
    asked, cache = certain_fits_in(*NODES, make.pod("w").nominated("a"))
    assert not asked.may_be_sure([cache.info(info)])
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodePorts"}]}}}],
    }
    asked, cache = certain_fits_in(*NODES, config=config)
    assert not asked.may_be_sure([cache.info(info)])
