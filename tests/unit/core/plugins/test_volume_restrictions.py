"""VolumeRestrictions against its rules, one at a time."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import Ready
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT, VolumeRestrictions
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)
from bayplan.testing.builders import claim, node, pod

ONCE_POD = "ReadWriteOncePod"


def gce(name: str, *, read_only: bool = False) -> Volume:
    return Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))


def aws(name: str, *, read_only: bool = False) -> Volume:
    source = AWSElasticBlockStoreVolumeSource(volume_id=name, read_only=read_only)
    return Volume(name="v", aws_elastic_block_store=source)


def iscsi(iqn: str, *, read_only: bool = False) -> Volume:
    return Volume(name="v", iscsi=ISCSIVolumeSource(iqn=iqn, read_only=read_only))


def rbd(monitors: str, image: str, *, pool: str = "", read_only: bool = False) -> Volume:
    source = RBDVolumeSource(monitors=list(monitors), image=image, pool=pool, read_only=read_only)
    return Volume(name="v", rbd=source)


@pytest.mark.parametrize(
    ("wanted", "there", "clash"),
    [
        pytest.param(gce("d"), gce("d"), True, id="gce-same"),
        pytest.param(gce("d"), gce("e"), False, id="gce-other"),
        pytest.param(gce("d", read_only=True), gce("d", read_only=True), False, id="gce-both-read-only"),
        pytest.param(gce("d", read_only=True), gce("d"), True, id="gce-one-writes"),
        pytest.param(aws("d", read_only=True), aws("d", read_only=True), True, id="aws-even-read-only"),
        pytest.param(aws("d"), aws("e"), False, id="aws-other"),
        pytest.param(aws("d"), gce("d"), False, id="different-kinds"),
        pytest.param(iscsi("q"), iscsi("q"), True, id="iscsi-same"),
        pytest.param(iscsi("q", read_only=True), iscsi("q", read_only=True), False, id="iscsi-both-read-only"),
        pytest.param(rbd("ab", "i"), rbd("bc", "i"), True, id="rbd-shared-monitor"),
        pytest.param(rbd("ab", "i"), rbd("cd", "i"), False, id="rbd-no-shared-monitor"),
        pytest.param(rbd("ab", "i"), rbd("ab", "j"), False, id="rbd-other-image"),
        pytest.param(rbd("ab", "i", pool="p"), rbd("ab", "i", pool="q"), False, id="rbd-other-pool"),
        pytest.param(rbd("a", "i", read_only=True), rbd("a", "i", read_only=True), False, id="rbd-both-read-only"),
    ],
)
def test_inline_disks(wanted: Volume, there: Volume, clash: bool) -> None:
    """A disk that a pod on the node holds is not available there, and is everywhere else."""
    cache = cache_of(node("a").obj(), node("b").obj(), pod("q").volume(there).node("a").obj())
    found = verdicts(VolumeRestrictions(), cache, pod("p").volume(wanted).obj())
    assert found["b"].ok
    assert found["a"].ok == (not clash)
    if clash:
        assert (found["a"].code, found["a"].reasons) == (Code.UNSCHEDULABLE, (DISK_CONFLICT,))


def test_exclusive_claim_in_use_fails_every_node() -> None:
    """A ReadWriteOncePod claim used anywhere in the cluster stops the pod on every node."""
    cache = cache_of(
        node("a").obj(), node("b").obj(), claim("data").modes(ONCE_POD).obj(), pod("q").claim("data").node("a").obj()
    )
    found = verdicts(VolumeRestrictions(), cache, pod("p").claim("data").obj())
    assert {(status.code, status.reasons) for status in found.values()} == {(Code.UNSCHEDULABLE, (CLAIM_IN_USE,))}
    assert set(found) == {"a", "b"}


def test_claims_nobody_else_uses_are_skipped() -> None:
    """Other namespaces, other modes and pods on nodes that are gone are no conflict."""
    cache = cache_of(
        node("a").obj(),
        claim("data").modes(ONCE_POD).obj(),
        claim("shared").obj(),
        pod("q", "other").claim("data").node("a").obj(),
        pod("r").claim("shared").node("a").obj(),
        pod("s").claim("data").node("gone").obj(),
    )
    assert verdicts(VolumeRestrictions(), cache, pod("p").claim("data").claim("shared").obj()) == {}


def test_missing_claim() -> None:
    """A claim that does not exist rejects the pod everywhere."""
    status = verdicts(VolumeRestrictions(), cache_of(node("a").obj()), pod("p").claim("data").obj())["*"]
    assert (status.code, status.reasons) == (Code.UNRESOLVABLE, ('persistentvolumeclaim "data" not found',))


def test_missing_ephemeral_claim_is_not_its_business() -> None:
    """Ephemeral volumes are left to VolumeBinding."""
    assert verdicts(VolumeRestrictions(), cache_of(node("a").obj()), pod("p").ephemeral("tmp").obj()) == {}


def test_disk_is_told_before_claim() -> None:
    """Where both are in the way the disk is the reason."""
    cache = cache_of(
        node("a").obj(),
        node("b").obj(),
        claim("data").modes(ONCE_POD).obj(),
        pod("q").claim("data").volume(aws("d")).node("a").obj(),
    )
    found = verdicts(VolumeRestrictions(), cache, pod("p").claim("data").volume(aws("d")).obj())
    assert [found[name].reasons for name in "ab"] == [(DISK_CONFLICT,), (CLAIM_IN_USE,)]


def test_each_node_has_its_own_world() -> None:
    """Removing the user of a claim frees its own node only; the state it was forked from stays."""
    cache = cache_of(
        node("a").obj(), node("b").obj(), claim("data").modes(ONCE_POD).obj(), pod("q").claim("data").node("a").obj()
    )
    plugin = VolumeRestrictions()
    _, view, outcome = prepared(plugin, cache, pod("p").claim("data").obj())
    assert isinstance(outcome, Ready)
    rows = view.nodes.rows_by_name
    forked = plugin.fork(outcome.state, view)
    plugin.shift(forked, view, row_array([view.pods.rows_by_key["default/q"]]), row_array([rows["a"]]), -1)
    codes = plugin.filter(forked, view, ALL_ROWS)
    assert (codes[rows["a"]], bool(codes[rows["b"]])) == (0, True)
    assert plugin.filter(outcome.state, view, ALL_ROWS).all()


def test_moved_pods_count_by_claim_name_alone() -> None:
    """A pod of another namespace that comes with a claim of the same name counts, as upstream counts it."""
    cache = cache_of(
        node("a").obj(),
        claim("data").modes(ONCE_POD).obj(),
        pod("q", "other").claim("data").nominated("a").obj(),
    )
    plugin = VolumeRestrictions()
    _, view, outcome = prepared(plugin, cache, pod("p").claim("data").volume(gce("d")).obj())
    assert isinstance(outcome, Ready)
    forked = plugin.fork(outcome.state, view)
    assert not plugin.filter(forked, view, ALL_ROWS).any()
    plugin.shift(forked, view, row_array([view.pods.rows_by_key["other/q"]]), row_array([0]), +1)
    assert plugin.filter(forked, view, ALL_ROWS).all()
