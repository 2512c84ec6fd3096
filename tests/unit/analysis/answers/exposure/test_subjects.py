"""Which pods an answer is about."""

from __future__ import annotations

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import deployment, node, pod, replica_set
from bayplan.testing.pods import PodBuilder

WEB = deployment("web", "shop").template(pod("t").cpu("1").labels(app="web")).replicas(3)
SET = replica_set("web-1", "shop").owner(WEB)


def replica(name: str) -> PodBuilder:
    return pod(name, "shop").cpu("1").labels(app="web").owner(SET)


def cluster() -> Cluster:
    things = (
        node("n"),
        node("full"),
        WEB,
        SET,
        replica("web-a").running("n"),
        replica("web-b").running("full"),
        replica("web-c"),
        replica("web-d").running("n").phase("Succeeded"),
        pod("other").cpu("2").priority(9).running("full"),
    )
    return Cluster([thing.obj() for thing in things])


@pytest.mark.parametrize("text", ["shop/deployment/web", "shop/rs/web-1"])
def test_a_workload_means_its_pods_the_most_exposed_first(text: str) -> None:
    answer = cluster().exposure(text)
    assert [each.pod for each in answer.pods] == ["shop/web-b", "shop/web-a"]
    assert (answer.pod_count, answer.waiting) == (2, ("shop/web-c",))
    assert answer.pods[0].classes
    assert not answer.pods[1].classes


def test_a_pod_that_waits_cannot_be_evicted() -> None:
    answer = cluster().exposure("shop/web-c")
    assert (answer.pods, answer.waiting) == ((), ("shop/web-c",))


def test_a_workload_without_pods_is_known() -> None:
    lonely = Cluster([node("n").obj(), WEB.obj()])
    assert lonely.exposure("deployment/web", namespace="shop").pods == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shop/web-d", "Succeeded: the pod has finished"),
        ("shop/web-z", "not found in the input"),
        ("deployment/web", "not found in the input"),
    ],
)
def test_what_cannot_be_answered(text: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        cluster().exposure(text)
