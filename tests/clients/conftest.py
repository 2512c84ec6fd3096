"""A cluster for all tests of one client; they use names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bayplan.testing import LiveCluster, cluster


@pytest.fixture(scope="module")
def k() -> Iterator[LiveCluster]:
    with cluster() as running:
        yield running
