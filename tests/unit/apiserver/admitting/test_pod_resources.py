"""What pods ask for in all."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.pod_resources import container_totals, pod_totals, qos_class


def _container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any) -> Any:
    given = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {name: value for name, value in given.items() if value}, **more}


def test_containers_add_up_and_the_neediest_moment_of_the_start_counts() -> None:
    spec = {
        "containers": [_container({"cpu": "500m"}), _container({"cpu": "1"})],
        "initContainers": [_container({"cpu": "2"})],
    }
    assert container_totals(spec, "requests") == {"cpu": "2"}


def test_a_sidecar_counts_beside_containers_and_beside_later_init_containers() -> None:
    spec = {
        "containers": [_container({"cpu": "1"})],
        "initContainers": [_container({"cpu": "1"}, restartPolicy="Always"), _container({"cpu": "3"})],
    }
    assert container_totals(spec, "requests") == {"cpu": "4"}


def test_what_the_pod_says_for_itself_replaces_the_sum_and_overhead_comes_on_top() -> None:
    spec = {
        "containers": [_container({"cpu": "1", "memory": "1Gi"})],
        "resources": {"requests": {"cpu": "3"}},
        "overhead": {"cpu": "100m"},
    }
    assert pod_totals(spec, "requests") == {"cpu": "3100m", "memory": "1Gi"}
    assert pod_totals(spec, "limits") == {}


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (_container(), "BestEffort"),
        (_container({"cpu": "0"}), "BestEffort"),
        (_container({"cpu": "1"}), "Burstable"),
        (_container({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "2"}), "Burstable"),
        (_container({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"}), "Guaranteed"),
        (_container({"example.com/gpu": "1"}, {"example.com/gpu": "1"}), "BestEffort"),
    ],
)
def test_the_class_of_service_follows_from_cpu_and_memory(container: Any, expected: str) -> None:
    assert qos_class({"containers": [container]}) == expected
