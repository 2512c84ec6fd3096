"""What the hints of several plugins ask of pods and claims."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from bayplan.core.plugins.requeue_rules import (
    after_named_claim,
    after_own_claim,
    after_own_update,
    has_place,
    is_same_pod,
    on,
)
from bayplan.model.pod import Pod
from bayplan.testing.builders import claim, pod


@pytest.mark.parametrize(
    ("own", "other", "same"),
    [
        pytest.param(pod("p").obj(), pod("p").obj(), True, id="same-uid"),
        pytest.param(pod("p").uid("1").obj(), pod("p").uid("2").obj(), False, id="recreated-under-its-name"),
        pytest.param(pod("p").uid("1").obj(), pod("q").uid("1").obj(), True, id="the-uid-decides"),
        pytest.param(pod("p").uid("").obj(), pod("p").uid("").obj(), True, id="no-uid-same-key"),
        pytest.param(pod("p").uid("").obj(), pod("p", "other").uid("").obj(), False, id="no-uid-other-namespace"),
        pytest.param(pod("p").uid("").obj(), pod("q").uid("").obj(), False, id="no-uid-other-name"),
    ],
)
def test_the_pod_itself_is_known_by_its_uid(own: Pod, other: Pod, same: bool) -> None:
    """And by its name where there is no uid."""
    info = cache_of().info(own)
    assert is_same_pod(info, other) == same
    assert after_own_update(info, own, other) == same


@pytest.mark.parametrize(
    ("other", "placed"),
    [(pod("p"), False), (pod("p").node("n"), True), (pod("p").nominated("n"), True)],
    ids=["waiting", "on a node", "nominated"],
)
def test_a_pod_takes_room_on_a_node_or_where_it_is_nominated(other: object, placed: bool) -> None:
    """Any other pod waits like this one."""
    assert has_place(other.obj()) == placed  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "namespace", "own", "named"),
    [
        pytest.param("data", "default", True, True, id="named"),
        pytest.param("p-scratch", "default", True, False, id="of-an-ephemeral-volume"),
        pytest.param("data", "other", False, False, id="of-another-namespace"),
        pytest.param("logs", "default", False, False, id="of-nobody"),
    ],
)
def test_claims_of_the_pod(name: str, namespace: str, own: bool, named: bool) -> None:
    """A generic ephemeral volume has a claim too, but the pod does not name it."""
    info = cache_of().info(pod("p").claim("data").ephemeral("scratch").obj())
    new = claim(name, namespace).obj()
    assert after_own_claim(info, None, new) == own
    assert after_named_claim(info, None, new) == named


def test_a_registration_in_one_line() -> None:
    """Without a hint, whatever happened."""
    assert on(EventResource.NODE, ActionType.ADD) == ClusterEventWithHint(
        ClusterEvent(EventResource.NODE, ActionType.ADD), None
    )
