"""What helps a pod whose volumes are in no node's zone."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.volume_zone import VolumeZone
from bayplan.model.kinds import Object
from bayplan.model.well_known import BETA_REGION, ZONE
from bayplan.testing.builders import claim, node, pod, storage_class, volume

POD = pod("p").claim("data").ephemeral("scratch").obj()
IN_A = volume("pv").labels({ZONE: "a"})


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, storage_class("s", mode="WaitForFirstConsumer").obj(), True, id="waiting-class-added"),
        pytest.param(None, storage_class("s").obj(), False, id="immediate-class-added"),
        pytest.param(None, storage_class("s", mode=None).obj(), False, id="class-without-mode-added"),
        pytest.param(None, node("n").obj(), True, id="node-added"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), True, id="node-labels"),
        pytest.param(node("n").obj(), node("n").taint("a").obj(), False, id="node-taints"),
        pytest.param(None, claim("data").obj(), True, id="own-claim-added"),
        pytest.param(claim("data").obj(), claim("data").bound("pv").obj(), True, id="own-claim-bound"),
        pytest.param(None, claim("p-scratch").obj(), False, id="ephemeral-claim-added"),
        pytest.param(None, claim("data", "b").obj(), False, id="claim-of-another-namespace"),
        pytest.param(None, volume("pv").obj(), True, id="volume-added"),
        pytest.param(IN_A.obj(), volume("pv").labels({ZONE: "b"}).obj(), True, id="volume-moved"),
        pytest.param(IN_A.obj(), volume("pv").labels({ZONE: "a__b"}).obj(), True, id="volume-in-one-more-zone"),
        pytest.param(IN_A.obj(), volume("pv").labels({ZONE: " a __a"}).obj(), False, id="the-same-zone-otherwise"),
        pytest.param(
            IN_A.obj(), volume("pv").labels({ZONE: "a", BETA_REGION: "r"}).obj(), True, id="volume-in-a-region"
        ),
        pytest.param(IN_A.obj(), volume("pv").labels({ZONE: "a", "tier": "x"}).obj(), False, id="volume-other-label"),
        pytest.param(IN_A.obj(), None, False, id="volume-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(VolumeZone(), POD, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    changed = ActionType.ADD | ActionType.UPDATE
    assert registered(VolumeZone()) == {
        EventResource.STORAGE_CLASS: ActionType.ADD,
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
        EventResource.PERSISTENT_VOLUME_CLAIM: changed,
        EventResource.PERSISTENT_VOLUME: changed,
    }
