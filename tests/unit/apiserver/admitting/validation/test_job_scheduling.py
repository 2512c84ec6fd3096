"""What a Job may say of the PodGroup of its pods, in a cluster with the feature gate WorkloadWithJob."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.testing import LiveCluster, cluster
from bayplan.testing.live_objects import Refusal

ON = "GenericWorkload=true,WorkloadWithJob=true"


def job(scheduling: dict[str, Any] | None, name: str = "j", parallelism: int = 2) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    spec = {"parallelism": parallelism, "template": template} | ({"scheduling": scheduling} if scheduling else {})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def gang(size: int | None = None) -> dict[str, Any]:
    return {"schedulingPolicy": {"gang": {} if size is None else {"minCount": size}}}


@pytest.fixture(scope="module")
def still() -> Iterator[LiveCluster]:
    with cluster(nodes=0, scheduler=False, controllers=False, feature_gates=ON, kubernetes_version="1.37") as k:
        yield k


def refused(live: LiveCluster, document: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as raised:
        live.apply(document)
    return str(raised.value)


@pytest.mark.parametrize(
    ("scheduling", "said"),
    [
        (
            gang(3),
            "schedulingPolicy.gang.minCount: Invalid value: 3: must not be greater than parallelism (2)",
        ),
        (gang(0), "gang.minCount: Invalid value: 0: must be greater than or equal to 1"),
        ({"schedulingPolicy": {}}, "spec.scheduling.schedulingPolicy: Invalid value"),
        (
            {"disruptionMode": {"all": {}}},
            'spec.scheduling.disruptionMode: Invalid value: "": '
            "the disruptionMode `all` is not supported with the Basic scheduling policy",
        ),
        (
            {**gang(), "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            "spec.scheduling.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
        ),
        (
            {**gang(), "resourceClaims": [{"name": "c"}]},
            'spec.scheduling.resourceClaims[0]: Invalid value: "": '
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
    ],
)
def test_what_is_refused(still: LiveCluster, scheduling: dict[str, Any], said: str) -> None:
    assert said in refused(still, job(scheduling))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, gang(), "spec.scheduling: Invalid value: null: field cannot be set once created"),
        (gang(), {"schedulingPolicy": {"basic": {}}}, "the basic/gang policy variant is immutable after creation"),
        (gang(), {**gang(), "disruptionMode": {"all": {}}}, "spec.scheduling.disruptionMode: Invalid value"),
    ],
)
def test_what_may_not_change(
    still: LiveCluster, before: dict[str, Any] | None, after: dict[str, Any], said: str, request: pytest.FixtureRequest
) -> None:
    name = f"change-{request.node.callspec.indices['before']}"
    still.apply(job(before, name))
    assert said in refused(still, job(after, name))


def test_the_size_of_a_gang_may_change(still: LiveCluster) -> None:
    still.apply(job(gang(1), "resized"))
    (changed,) = still.apply(job(gang(2), "resized"))
    assert changed["spec"]["scheduling"] == gang(2)


def test_without_the_gate_the_field_is_not_kept() -> None:
    with cluster(
        nodes=0, scheduler=False, controllers=False, feature_gates="GenericWorkload=true", kubernetes_version="1.37"
    ) as k:
        (made,) = k.apply(job(gang()))
        assert "scheduling" not in made["spec"]
