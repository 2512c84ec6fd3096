"""VolumeZone against its rules, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.core.framework.contract import Ready
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.volume_zone import CONFLICT, VolumeZone
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from bayplan.testing.builders import claim, node, pod, storage_class, volume

POD = pod("p").claim("data").obj()
BOUND = claim("data").bound("pv").obj()


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "passes"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="same-zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="other-zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one-of-two-zones"),
        pytest.param({ZONE: "a__ b "}, {ZONE: "b"}, True, id="blanks-are-stripped"),
        pytest.param({ZONE: "a"}, {}, True, id="node-without-labels"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="node-with-region-only"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="old-label-on-new-node"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="old-label-first"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="new-label-on-old-node"),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, True, id="old-region-on-new-node"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="both-must-hold"),
        pytest.param({ZONE: "a__", REGION: "r"}, {ZONE: "b", REGION: "r"}, True, id="unparsable-is-ignored"),
    ],
)
def test_zone_labels(volume_labels: dict[str, str], node_labels: dict[str, str], passes: bool) -> None:
    """A labeled node must carry the volume's zone labels."""
    cache = cache_of(node("n").labels(node_labels).obj(), BOUND, volume("pv").labels(volume_labels).obj())
    status = verdicts(VolumeZone(), cache, POD)["n"]
    assert status.ok == passes
    if not passes:
        assert (status.code, status.reasons) == (Code.UNRESOLVABLE, (CONFLICT,))


@pytest.mark.parametrize(
    ("given", "classes", "reason"),
    [
        pytest.param(None, [], 'persistentvolumeclaim "data" not found', id="no-claim"),
        pytest.param(claim("data").bound("gone").obj(), [], 'persistentvolume "gone" not found', id="no-volume"),
        pytest.param(
            claim("data").obj(), [], "PersistentVolumeClaim had no pv name and storageClass name", id="no-class-name"
        ),
        pytest.param(
            claim("data").storage_class("fast").obj(), [], 'storageclass.storage.k8s.io "fast" not found', id="no-class"
        ),
        pytest.param(
            claim("data").storage_class("fast").obj(),
            [storage_class("fast", mode=None).obj()],
            'VolumeBindingMode not set for StorageClass "fast"',
            id="no-mode",
        ),
        pytest.param(
            claim("data").storage_class("fast").obj(),
            [storage_class("fast").obj()],
            "PersistentVolume had no name",
            id="immediate-unbound",
        ),
    ],
)
def test_claims_that_stop_the_pod(
    given: PersistentVolumeClaim | None, classes: list[StorageClass], reason: str
) -> None:
    """A claim without a volume that should have one rejects the pod everywhere."""
    cache = cache_of(node("n").obj(), *([given] if given else []), *classes)
    status = verdicts(VolumeZone(), cache, POD)["*"]
    assert (status.code, status.reasons) == (Code.UNRESOLVABLE, (reason,))


def test_a_claim_without_a_name_stops_the_pod() -> None:
    """An empty claim name is told as such."""
    status = verdicts(VolumeZone(), cache_of(node("n").obj()), pod("p").claim("").obj())["*"]
    assert status.reasons == ("PersistentVolumeClaim had no name",)


def test_nothing_to_do() -> None:
    """Pods without zoned volumes skip the plugin: delayed, ephemeral, and unlabeled volumes."""
    waiting = storage_class("late", mode="WaitForFirstConsumer").obj()
    cache = cache_of(node("n").zone("a").obj(), BOUND, volume("pv").obj(), waiting)
    cache.add(claim("later").storage_class("late").obj())
    assert verdicts(VolumeZone(), cache, POD) == {}
    assert verdicts(VolumeZone(), cache, pod("p").claim("later").obj()) == {}
    assert verdicts(VolumeZone(), cache, pod("p").ephemeral("scratch").obj()) == {}


def test_rows_choose_the_answers() -> None:
    """Asked about some rows, the plugin answers for those, in their order."""
    nodes = [node(name).zone(zone).obj() for name, zone in [("a", "x"), ("b", "y"), ("c", "x")]]
    cache = cache_of(*nodes, BOUND, volume("pv").labels({ZONE: "x"}).obj())
    _, view, outcome = prepared(VolumeZone(), cache, POD)
    assert isinstance(outcome, Ready)
    rows = np.array([view.nodes.rows_by_name[name] for name in ("b", "c")], dtype=np.intp)
    assert VolumeZone().filter(outcome.state, view, rows).tolist() == [1, 0]
