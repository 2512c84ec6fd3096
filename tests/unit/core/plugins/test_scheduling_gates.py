"""Gated pods stay out of the queue."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.core.framework.contract import PreEnqueuePlugin
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.plugins.scheduling_gates import SchedulingGates
from bayplan.testing.builders import pod


@pytest.mark.parametrize(
    ("gates", "reason"),
    [
        (["a"], "waiting for scheduling gates: [a]"),
        (["b", "a"], "waiting for scheduling gates: [b a]"),
    ],
    ids=["one", "several, as written"],
)
def test_a_gated_pod_waits(gates: list[str], reason: str) -> None:
    """All gates are named, in the order of the spec."""
    info = cache_of().info(pod("p").gate(*gates).obj())
    assert SchedulingGates().pre_enqueue(info) == Status(Code.UNRESOLVABLE, (reason,))


def test_a_pod_without_gates_enters() -> None:
    """Nothing holds it back."""
    assert SchedulingGates().pre_enqueue(cache_of().info(pod("p").obj())) == SUCCESS


def test_is_a_pre_enqueue_plugin() -> None:
    """The framework finds it by what it can do."""
    assert isinstance(SchedulingGates(), PreEnqueuePlugin)
