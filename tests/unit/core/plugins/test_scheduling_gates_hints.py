"""Only the end of its own last gate helps a gated pod."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.scheduling_gates import SchedulingGates
from bayplan.model.pod import Pod
from bayplan.testing.builders import pod

GATED = pod("p").gate("a", "b").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(GATED, pod("p").obj(), True, id="own-gates-gone"),
        pytest.param(GATED, pod("p").gate("a").obj(), False, id="one-gate-left"),
        pytest.param(GATED, pod("p").gate("a", "b").labels(a="1").obj(), False, id="own-labels"),
        pytest.param(pod("q").gate("a").obj(), pod("q").obj(), False, id="gates-of-another"),
    ],
)
def test_pod_updates(old: Pod, new: Pod, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(SchedulingGates(), GATED, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(SchedulingGates()) == {EventResource.POD: ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED}
