"""Clusters as pytest fixtures: `kubernetes_cluster` for one test, `session_kubernetes_cluster` for a whole run.

`kubernetes_user` is a user of the first, `session_kubernetes_user` of the second, each in a namespace of its own.

pytest imports this module in every run of whoever has bayplan installed, so it imports nothing else until a test asks
for a cluster. How the cluster is to be: `@pytest.mark.kubernetes_cluster(nodes=5)` for a test, a class or a module; for
the session a fixture `kubernetes_cluster_options` in a conftest.py, which the marker then adds to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bayplan.testing.live_cluster import LiveCluster
    from bayplan.testing.live_users import ClusterUser

_MARKER = "kubernetes_cluster"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARKER}(nodes, speed, scheduler, controllers, config): the cluster that the test is given"
    )


@pytest.fixture(scope="session")
def kubernetes_cluster_options() -> dict[str, Any]:
    """Arguments of `bayplan.testing.cluster` for every cluster of the run; redefine it to change them."""
    return {}


@pytest.fixture
def kubernetes_cluster(
    request: pytest.FixtureRequest, kubernetes_cluster_options: dict[str, Any]
) -> Iterator[LiveCluster]:
    """A cluster for this test alone: its address, its kubeconfig, `apply` and `wait_until`."""
    from bayplan.testing.live_cluster import cluster  # noqa: PLC0415 - costs only those who ask for a cluster

    options = dict(kubernetes_cluster_options)
    for mark in reversed([*request.node.iter_markers(_MARKER)]):
        options.update(mark.kwargs)
    with cluster(**options) as running:
        yield running


@pytest.fixture(scope="session")
def session_kubernetes_cluster(kubernetes_cluster_options: dict[str, Any]) -> Iterator[LiveCluster]:
    """A cluster that all tests of the run share; what one of them leaves there, the next ones find."""
    from bayplan.testing.live_cluster import cluster  # noqa: PLC0415 - costs only those who ask for a cluster

    with cluster(**kubernetes_cluster_options) as running:
        yield running


@pytest.fixture
def kubernetes_user(kubernetes_cluster: LiveCluster) -> ClusterUser:
    """A user of this test's cluster, with a ServiceAccount in a namespace of its own."""
    return kubernetes_cluster.user(namespace="test")


@pytest.fixture
def session_kubernetes_user(session_kubernetes_cluster: LiveCluster) -> Iterator[ClusterUser]:
    """A user of the cluster that all tests share; its namespace is new, and is deleted when the test ends."""
    import uuid  # noqa: PLC0415

    namespace = f"test-{uuid.uuid4().hex[:12]}"
    yield session_kubernetes_cluster.user(namespace=namespace)
    session_kubernetes_cluster.delete("namespace", namespace, "")
