"""Deployments: ReplicaSets for templates, and how pods are exchanged."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workload_stage import OTHER_TEMPLATE, TEMPLATE, Workloads, requests

from bayplan.controllers.ownership import TEMPLATE_HASH
from bayplan.controllers.workloads.deployment import REVISION, DeploymentController
from bayplan.controllers.workloads.replica_set import ReplicaSetController
from bayplan.model.pod import Pod
from bayplan.model.workloads import Deployment, ReplicaSet, RollingUpdate, UpdateStrategy
from bayplan.testing.builders import deployment, pod, replica_set
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder


def stage_with(replicas: int, **spec: Any) -> Workloads:
    stage = Workloads(DeploymentController(), ReplicaSetController())
    stage.create(deployment("web").replicas(replicas).set(**spec).template(TEMPLATE).manifest().obj())
    return stage


def rolled_out(replicas: int, **spec: Any) -> Workloads:
    stage = stage_with(replicas, **spec)
    stage.run_all()
    return stage


def rolling(surge: int | str, unavailable: int | str) -> UpdateStrategy:
    return UpdateStrategy(rolling_update=RollingUpdate(max_surge=surge, max_unavailable=unavailable))


def use(stage: Workloads, pattern: PodBuilder) -> None:
    """Gives the Deployment another template."""
    stage.change(Deployment, "web", template=deployment("web").template(pattern).obj().spec.template)


def sizes(stage: Workloads) -> list[int]:
    """What the ReplicaSets are asked for, oldest first."""
    return [one.spec.replicas or 0 for one in stage.store.list(ReplicaSet)]


def by_template(stage: Workloads) -> tuple[int, int]:
    """Active pods of the old and of the new template."""
    asked = requests(stage.active())
    return asked.count("1"), asked.count("2")


def test_a_new_deployment() -> None:
    """A ReplicaSet called after the hash of the template makes the pods, which bear the hash."""
    stage = stage_with(3)
    (made,) = stage.store.list(ReplicaSet)
    hashed = made.metadata.labels[TEMPLATE_HASH]
    assert made.metadata.name == f"web-{hashed}"
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "x", TEMPLATE_HASH: hashed}
    assert made.metadata.owner_references[0].uid == stage.get(Deployment, "web").metadata.uid
    assert [one.metadata.labels[TEMPLATE_HASH] for one in stage.pods()] == [hashed] * 3
    assert all(one.metadata.name.startswith(f"web-{hashed}-") for one in stage.pods())


def test_the_status() -> None:
    """Counts come from the ReplicaSets; enough available pods make the Deployment available."""
    stage = stage_with(4)
    status = stage.get(Deployment, "web").status
    assert (status.replicas, status.updated_replicas, status.available_replicas) == (4, 4, 0)
    assert [(one.type, one.status) for one in status.conditions] == [("Available", "False"), ("Progressing", "True")]
    stage.run(*stage.names()[:3])
    status = stage.get(Deployment, "web").status
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (4, 3, 3)
    assert [(one.type, one.status, one.reason) for one in status.conditions] == [
        ("Progressing", "True", "ReplicaSetUpdated"),
        ("Available", "True", "MinimumReplicasAvailable"),
    ]
    assert status.observed_generation == stage.get(Deployment, "web").metadata.generation


@pytest.mark.parametrize(
    ("strategy", "steps"),
    [
        pytest.param(rolling(1, 0), [(4, 1), (3, 2), (2, 3), (1, 4), (0, 4)], id="one more at a time"),
        pytest.param(rolling(0, 1), [(3, 1), (2, 2), (1, 3), (0, 4)], id="one fewer at a time"),
        pytest.param(rolling(4, 0), [(4, 4), (0, 4)], id="all new ones first"),
        pytest.param(rolling(0, 4), [(0, 4)], id="all old ones first"),
        pytest.param(None, [(3, 2), (1, 4), (0, 4)], id="by default a quarter up and a quarter down"),
    ],
)
def test_rolling_update(strategy: UpdateStrategy | None, steps: list[tuple[int, int]]) -> None:
    """Old pods go and new ones come as far as the strategy allows; then as new ones become ready."""
    stage = rolled_out(4, strategy=strategy)
    use(stage, OTHER_TEMPLATE)
    seen = [by_template(stage)]
    for _ in range(10):
        stage.stop_terminating()
        stage.run_all()
        if by_template(stage) != seen[-1]:
            seen.append(by_template(stage))
    assert seen == steps
    assert sizes(stage) == [0, 4]


def test_old_pods_stay_while_new_ones_do_not_become_ready() -> None:
    """A template that does not work does no harm beyond what may be away."""
    stage = rolled_out(4, strategy=rolling(1, 1))
    use(stage, OTHER_TEMPLATE)
    stage.stop_terminating()
    stage.pass_time(3600)
    assert by_template(stage) == (3, 2)


def test_unready_old_pods_go_first() -> None:
    """Pods that nobody can use are given up whatever may be away."""
    stage = stage_with(4, strategy=rolling(1, 0))
    stage.run(*stage.names()[:3])
    use(stage, OTHER_TEMPLATE)
    # Of three available pods four are wanted, so that none of these may go.
    assert by_template(stage) == (4, 1)
    stage.run(*[one.metadata.name for one in stage.active() if requests([one]) == ["2"]])
    assert by_template(stage) == (3, 2)


def test_back_to_a_template_that_was_there_before() -> None:
    """A rollback uses the old ReplicaSet again, as the latest revision."""
    stage = rolled_out(2)
    first = stage.store.list(ReplicaSet)[0].metadata.name
    use(stage, OTHER_TEMPLATE)
    for _ in range(5):
        stage.run_all()
    assert stage.get(Deployment, "web").metadata.annotations[REVISION] == "2"
    use(stage, TEMPLATE)
    for _ in range(5):
        stage.run_all()
    assert stage.store.list(ReplicaSet)[0].metadata.name == first
    assert sizes(stage) == [2, 0]
    assert stage.get(ReplicaSet, first).metadata.annotations[REVISION] == "3"
    assert stage.get(Deployment, "web").metadata.annotations[REVISION] == "3"


def test_recreate() -> None:
    """With Recreate nothing new is started before the last old pod is gone."""
    stage = rolled_out(2, strategy=UpdateStrategy(type="Recreate"))
    first, second = stage.names()
    use(stage, OTHER_TEMPLATE)
    assert by_template(stage) == (0, 0)
    assert len(stage.store.list(ReplicaSet)) == 1
    stage.stop(first)
    assert by_template(stage) == (0, 0)
    stage.stop(second)
    assert by_template(stage) == (0, 2)
    assert sizes(stage) == [0, 2]


def test_scaling() -> None:
    """Another number of replicas goes straight to the ReplicaSet, also while paused."""
    stage = rolled_out(3)
    stage.change(Deployment, "web", replicas=5)
    assert sizes(stage) == [5]
    stage.change(Deployment, "web", replicas=1, paused=True)
    assert len(stage.names()) == 1
    stage.change(Deployment, "web", replicas=0)
    assert stage.names() == []
    stage.change(Deployment, "web", replicas=2)
    assert len(stage.names()) == 2


def test_scaling_amid_a_rollout() -> None:
    """Both ReplicaSets get their share."""
    stage = rolled_out(8, strategy=rolling(4, 0))
    use(stage, OTHER_TEMPLATE)
    assert sizes(stage) == [8, 4]
    stage.change(Deployment, "web", replicas=20)
    assert sizes(stage) == [16, 8]


def test_paused() -> None:
    """A paused Deployment starts no rollout until it is let go on."""
    stage = rolled_out(2)
    stage.change(Deployment, "web", paused=True)
    use(stage, OTHER_TEMPLATE)
    assert by_template(stage) == (2, 0)
    stage.change(Deployment, "web", paused=False)
    assert by_template(stage)[1] > 0


def test_history() -> None:
    """When a rollout is done, the oldest ReplicaSets beyond the limit go."""
    stage = rolled_out(1, revision_history_limit=2)
    for number in range(2, 7):
        use(stage, pod("t").labels(app="x").cpu(str(number)))
        for _ in range(3):
            stage.stop_terminating()
            stage.run_all()
    assert [one.metadata.annotations[REVISION] for one in stage.store.list(ReplicaSet)] == ["4", "5", "6"]
    assert requests(stage.active()) == ["6"]


def test_evicted_pods_do_not_disturb_a_deployment() -> None:
    """A victim is replaced by its ReplicaSet; the Deployment only counts."""
    stage = rolled_out(3)
    stage.evict(stage.names()[0])
    assert len(stage.names()) == 3
    status = stage.get(Deployment, "web").status
    assert (status.replicas, status.available_replicas) == (3, 2)


def test_a_loaded_deployment_goes_on_with_what_it_has() -> None:
    """Its ReplicaSet is known by its template, whatever hash it is called after."""
    stage = Workloads(DeploymentController(), ReplicaSetController())
    web = deployment("web").replicas(1).template(TEMPLATE)
    hashed: Builder[ReplicaSet] = (
        replica_set("web-abc").replicas(1).template(pod("t").labels({"app": "x", TEMPLATE_HASH: "abc"}).cpu("1"))
    ).owner(web)
    stage.load(web.obj(), hashed.obj(), pod("web-abc-1").owner(hashed).running("n1").obj())
    assert [one.metadata.name for one in stage.store.list(ReplicaSet)] == ["web-abc"]
    assert [one.metadata.name for one in stage.store.list(Pod)] == ["web-abc-1"]
