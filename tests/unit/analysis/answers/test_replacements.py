"""Which pods come back, and as what."""

from __future__ import annotations

import pytest
from tests.support.changed_clusters import owned

from bayplan.analysis.answers.replacements import Replacements, comes_back
from bayplan.controllers.workloads.daemon_placement import pinned_to
from bayplan.model.volumes import PersistentVolumeClaimSpec
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder


@pytest.mark.parametrize(
    ("pod", "returns"),
    [
        pytest.param(make.pod("p"), False, id="bare"),
        pytest.param(owned("p"), True, id="of a workload"),
        pytest.param(make.pod("p").owner("Workflow", "w"), True, id="of a controller that nobody here knows"),
        pytest.param(make.pod("p").owner("ReplicaSet", "w", controller=False), False, id="owned, but not controlled"),
        pytest.param(make.pod("p").owner("Node", "n"), False, id="run by a kubelet from a file"),
        pytest.param(owned("p").terminating(), False, id="leaving: its controller has made another one already"),
    ],
)
def test_what_comes_back(pod: PodBuilder, returns: bool) -> None:
    assert comes_back(pod.running("a").obj()) is returns


def test_a_replacement_waits_and_asks_for_the_same() -> None:
    lost = owned("p").cpu("2").labels(app="x").priority(7).running("a").obj()
    made, _ = Replacements([]).instead_of(lost, "a")
    assert (made.metadata.name, made.metadata.labels, made.spec.priority) == ("p", {"app": "x"}, 7)
    assert (made.spec.node_name, made.status.phase, made.status.conditions) == ("", "Pending", [])
    assert made.spec.containers == lost.spec.containers
    assert lost.spec.node_name == "a"


def test_its_priority_is_what_its_class_says_now() -> None:
    lost = owned("p").priority(7, class_name="gold").running("a").obj()
    made, _ = Replacements([make.priority_class("gold", 70).obj()]).instead_of(lost, "a")
    assert made.spec.priority == 70


def test_a_daemon_is_made_for_its_node() -> None:
    lost = make.pod("d").owner(make.daemon_set("d")).running("a").obj()
    made, _ = Replacements([]).instead_of(lost, "a")
    assert pinned_to(made) == "a"


def test_ephemeral_volumes_start_anew() -> None:
    lost = owned("p").ephemeral("scratch", PersistentVolumeClaimSpec()).running("a").obj()
    default = make.storage_class("fast").annotations({"storageclass.kubernetes.io/is-default-class": "true"})
    _, (claim,) = Replacements([default.obj()]).instead_of(lost, "a")
    assert (claim.metadata.name, claim.spec.volume_name, claim.spec.storage_class_name) == ("p-scratch", "", "fast")
