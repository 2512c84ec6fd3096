"""LimitRanges: defaults for containers, and bounds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import admitted, container, document, pod, refusal


def _range(**item: Any) -> dict[str, Any]:
    return admitted(document("v1", "LimitRange", {"limits": [{"type": "Container", **item}]}))


def test_a_container_that_asks_for_nothing_gets_the_defaults_and_a_note_says_so() -> None:
    made = admitted(pod(), _range(default={"cpu": "1", "memory": "1Gi"}, defaultRequest={"cpu": "500m"}))
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "1Gi"},
    }
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
    )


@pytest.mark.parametrize(
    ("item", "resources", "message"),
    [
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"min": {"cpu": "500m"}},
            {"requests": {"cpu": "100m"}},
            "minimum cpu usage per Container is 500m, but request is 100m",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000",
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (
            {"min": {"cpu": "1"}, "max": {"memory": "1Mi"}},
            {"requests": {"cpu": "1m"}, "limits": {"memory": "2Mi"}},
            "[minimum cpu usage per Container is 1, but request is 1m, "
            "maximum memory usage per Container is 1Mi, but limit is 2Mi]",
        ),
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "1"}}, ""),
    ],
)
def test_pods_keep_to_the_bounds(item: dict[str, Any], resources: dict[str, Any], message: str) -> None:
    assert refusal(pod(containers=[container(resources=resources)]), _range(**item)) == message


def test_claims_keep_to_theirs() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    bounds = _range(type="PersistentVolumeClaim", max={"storage": "1Gi"})
    message = "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    assert refusal(document("v1", "PersistentVolumeClaim", claim), bounds) == message
