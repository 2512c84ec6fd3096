"""Which pods keep Cluster Autoscaler from removing a node."""

from __future__ import annotations

import pytest

from bayplan.controllers.autoscaling.drainability import BudgetsLeft, drainable
from bayplan.controllers.autoscaling.settings import Settings
from bayplan.model.node_pools import AutoscalerSpec
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.volumes import EmptyDirVolumeSource, HostPathVolumeSource, Volume
from bayplan.testing.builders import budget, daemon_set, pod, replica_set
from bayplan.testing.pods import PodBuilder

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SETTINGS = Settings.of(AutoscalerSpec())


def owned(name: str = "a", namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="web").owner(replica_set("web", namespace).obj())


def said(*pods: PodBuilder, budgets: tuple[PodDisruptionBudget, ...] = (), settings: Settings = SETTINGS) -> str:
    """Why the node stays; "" if it may go."""
    return drainable([each.obj() for each in pods], BudgetsLeft(budgets), settings).why


EMPTY_DIR = Volume(name="tmp", empty_dir=EmptyDirVolumeSource())


@pytest.mark.parametrize(
    ("built", "why"),
    [
        (owned(), ""),
        (pod("lone"), "it has no controller"),
        (pod("lone").annotations({SAFE: "true"}), ""),
        (owned().annotations({SAFE: "false"}), f"it is annotated {SAFE}: false"),
        (owned(namespace="kube-system"), "it is in kube-system and has no budget"),
        (owned(namespace="kube-system").annotations({SAFE: "true"}), ""),
        (owned().volume(EMPTY_DIR), "it has local storage"),
        (owned().volume(Volume(name="logs", host_path=HostPathVolumeSource())), "it has local storage"),
        (owned().volume(Volume(name="m", empty_dir=EmptyDirVolumeSource(medium="Memory"))), ""),
        (owned().annotations({f"{SAFE}-local-volumes": "tmp"}).volume(EMPTY_DIR), ""),
        (owned().annotations({f"{SAFE}-local-volumes": "other"}).volume(EMPTY_DIR), "it has local storage"),
        (pod("d").owner(daemon_set("d").obj()), ""),
        (pod("m").annotations({"kubernetes.io/config.mirror": "x"}), ""),
        (pod("over").phase("Succeeded"), ""),
    ],
)
def test_a_pod_is_in_the_way_or_not(built: PodBuilder, why: str) -> None:
    assert said(built) == why


def test_system_pods_and_local_storage_may_be_allowed() -> None:
    lenient = Settings.of(AutoscalerSpec(skip_nodes_with_system_pods=False, skip_nodes_with_local_storage=False))
    assert said(owned(namespace="kube-system"), owned().volume(EMPTY_DIR), settings=lenient) == ""


def test_a_system_pod_with_a_budget_may_go() -> None:
    covering = budget("b", "kube-system").selects(app="web").allows(1).obj()
    assert said(owned(namespace="kube-system"), budgets=(covering,)) == ""


@pytest.mark.parametrize(("allowed", "why"), [(2, ""), (1, "its budget allows no more disruptions")])
def test_all_pods_of_a_node_go_at_once_or_none(allowed: int, why: str) -> None:
    covering = budget("b").selects(app="web").allows(allowed).obj()
    assert said(owned("a"), owned("b"), budgets=(covering,)) == why


def test_what_one_node_takes_of_a_budget_is_gone_for_the_next() -> None:
    left = BudgetsLeft([budget("b").selects(app="web").allows(1).obj()])
    first = drainable([owned("a").obj()], left, SETTINGS)
    left.spend(first.to_move)
    assert drainable([owned("b").obj()], left, SETTINGS).blocking == "default/b"


def test_daemons_and_mirror_pods_do_not_move() -> None:
    daemon, moving = pod("d").owner(daemon_set("d").obj()).obj(), owned().obj()
    assert drainable([daemon, moving], BudgetsLeft([]), SETTINGS).to_move == [moving]
