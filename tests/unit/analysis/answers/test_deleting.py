"""Who goes with a deleted object."""

from __future__ import annotations

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.answers.deleting import Deletion, Loss, deleted, parsed_names
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

DEPLOYMENT = make.deployment("web")
REPLICA_SET = make.replica_set("web-1").owner(DEPLOYMENT)
CRON_JOB = make.cron_job("tick")
JOB = make.job("tick-1").owner(CRON_JOB)
CLUSTER = cluster_of(
    make.node("a"),
    make.namespace("shop"),
    DEPLOYMENT,
    REPLICA_SET,
    CRON_JOB,
    JOB,
    owned("web-1-x", REPLICA_SET).running("a"),
    owned("tick-1-x", JOB).running("a"),
    owned("over", JOB).running("a").phase("Succeeded"),
    make.pod("bare", "shop").running("a"),
    make.service("svc", "shop"),
    make.pod("daemon").owner(make.daemon_set("d")).running("a"),
)


def delete(*texts: str) -> Deletion:
    return deleted(CLUSTER.objects, parsed_names(texts, "default"))


def names(deletion: Deletion, kind: str) -> list[str]:
    return [obj.metadata.name for obj in deletion.objects if type(obj).__name__ == kind]


def test_a_deployment_takes_its_replica_sets_and_their_pods_along() -> None:
    gone = delete("deployment/web")
    assert gone.losses == [Loss(("default/web-1-x",), DepartureCause.DELETED, "Deployment default/web", for_good=True)]
    assert (names(gone, "Deployment"), names(gone, "ReplicaSet")) == ([], [])


def test_a_cron_job_takes_its_jobs_along_and_pods_that_are_over_cost_nobody_anything() -> None:
    gone = delete("cj/tick")
    assert gone.losses == [Loss(("default/tick-1-x",), DepartureCause.DELETED, "CronJob default/tick", for_good=True)]
    assert names(gone, "Job") == []


def test_a_namespace_takes_everything_along() -> None:
    gone = delete("ns/shop")
    assert gone.losses == [Loss(("shop/bare",), DepartureCause.DELETED, "Namespace shop", for_good=True)]
    assert names(gone, "Service") == []


def test_a_namespace_is_there_if_anything_is_in_it() -> None:
    assert [loss.pods for loss in delete("ns/default").losses] == [
        ("default/web-1-x", "default/tick-1-x", "default/daemon"),
    ]


def test_a_replica_set_of_a_deployment_is_made_again() -> None:
    assert delete("rs/web-1").losses[0].for_good is False


def test_a_pod_is_made_again_if_somebody_does() -> None:
    assert delete("pod/web-1-x").losses == [
        Loss(("default/web-1-x",), DepartureCause.DELETED, "Pod default/web-1-x", for_good=False)
    ]


def test_the_pods_of_a_node_come_back_elsewhere_but_not_its_daemons() -> None:
    gone = delete("node/a")
    assert gone.losses == [
        Loss(("default/daemon",), DepartureCause.NODE_DELETED, "a", for_good=True),
        Loss(("default/web-1-x", "default/tick-1-x", "shop/bare"), DepartureCause.NODE_DELETED, "a", for_good=False),
    ]
    assert names(gone, "Node") == []


def test_what_has_no_pods_costs_nobody_anything() -> None:
    gone = delete("shop/service/svc")
    assert (gone.losses, names(gone, "Service")) == ([], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deployment/wed", r"Deployment default/wed: not found in the input; did you mean default/web\?"),
        ("node/nowhere", "Node nowhere: not found in the input"),
        ("a/b/c/d", "a/b/c/d: expected NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME"),
        ("shop/thing/x", "shop/thing/x: unknown kind 'thing'"),
    ],
)
def test_what_is_not_there_cannot_be_deleted(text: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        delete(text)
