"""From a pod to what made it."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.controllers.ownership import Ownership
from bayplan.testing.builders import cron_job, daemon_set, deployment, job, node, pod, replica_set
from bayplan.testing.building import Builder

WEB = deployment("web", "shop")
SET = replica_set("web-5f", "shop").owner(WEB)
NIGHTLY = cron_job("nightly")
RUN = job("nightly-1").owner(NIGHTLY)


@pytest.mark.parametrize(
    ("made", "known", "expected"),
    [
        pytest.param(pod("p"), [], "default/p", id="nobody"),
        pytest.param(pod("p").owner(daemon_set("agent")), [], "daemonset/agent", id="a controller that is not known"),
        pytest.param(pod("p", "shop").owner(SET), [WEB, SET], "shop/deployment/web", id="through its ReplicaSet"),
        pytest.param(
            pod("p", "shop").labels({"pod-template-hash": "5f"}).owner(SET), [], "shop/deployment/web", id="by the hash"
        ),
        pytest.param(pod("p", "shop").owner(SET), [], "shop/replicaset/web-5f", id="no further than names tell"),
        pytest.param(pod("p").owner(RUN), [RUN], "cronjob/nightly", id="through its Job"),
        pytest.param(pod("p").owner(node("n")), [], "default/p", id="a static pod is its own"),
    ],
)
def test_the_workload_of_a_pod(made: Builder[Any], known: list[Builder[Any]], expected: str) -> None:
    ownership = Ownership([each.obj() for each in known])
    assert short_name(workload_of(made.obj(), ownership)) == expected
