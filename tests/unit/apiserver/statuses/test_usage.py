"""What pods use, by their annotations and requests."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.statuses.usage import usage_of

MILLI, MEBI = 10**6, 2**20 * 10**9


def pod(phase: str = "Running", **annotations: str) -> dict[str, Any]:
    written = {f"bayplan/{name.replace('_', '-')}": value for name, value in annotations.items()}
    requests = {"cpu": "100m", "memory": "64Mi"}
    containers = [{"name": "c", "resources": {"requests": requests}}, {"name": "d"}]
    return {"metadata": {"annotations": written}, "spec": {"containers": containers}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("annotations", "of_first"),
    [
        ({}, (100 * MILLI, 64 * MEBI)),
        ({"cpu_usage": "250m"}, (250 * MILLI, 64 * MEBI)),
        ({"memory_usage": "1Mi", "cpu_usage": "0"}, (0, MEBI)),
        ({"cpu_usage": "much"}, (100 * MILLI, 64 * MEBI)),
        ({"cpu_usage": "-1"}, (0, 64 * MEBI)),
    ],
)
def test_annotations_go_before_requests(annotations: dict[str, str], of_first: tuple[int, int]) -> None:
    usage = usage_of(pod(**annotations))
    assert usage is not None
    assert (usage["c"]["cpu"], usage["c"]["memory"]) == of_first
    assert usage["d"] == {"cpu": 0, "memory": 0}


def test_a_pod_that_does_not_run_uses_nothing_that_is_known() -> None:
    assert usage_of(pod("Pending")) is None
