"""VolumeRestrictions over all nodes against one pod and one volume at a time, with pods really moved."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, prepared
from tests.support.examples import examples

from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import Skip
from bayplan.core.framework.verdict import Status
from bayplan.core.plugins.volume_restrictions import CODE_CLAIM, CODE_DISK, VolumeRestrictions
from bayplan.model.pod import Pod
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    PersistentVolumeClaimVolumeSource,
    RBDVolumeSource,
    Volume,
)
from bayplan.testing.builders import claim, node, pod

NODES = ["n0", "n1", "n2"]
GHOST = "gone"
EXCLUSIVE = {"c0", "c1"}  # c2 may be shared
DISK = st.sampled_from(["d", "e"])
CLAIMS = st.builds(
    lambda name: Volume(persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name)),
    st.sampled_from(["c0", "c1", "c2"]),
)
DISKS = st.one_of(
    st.builds(
        lambda name, ro: Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=ro)),
        DISK,
        st.booleans(),
    ),
    st.builds(lambda name: Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name)), DISK),
    st.builds(lambda name, ro: Volume(iscsi=ISCSIVolumeSource(iqn=name, read_only=ro)), DISK, st.booleans()),
    st.builds(
        lambda monitors, name, ro: Volume(rbd=RBDVolumeSource(monitors=monitors, image=name, read_only=ro)),
        st.lists(st.sampled_from(["x", "y", "z"]), max_size=2),
        DISK,
        st.booleans(),
    ),
)


@dataclass
class Case:
    """Running and nominated pods, the pod to place, and who moves."""

    running: list[Pod]
    nominated: list[Pod]
    waiting: Pod
    leaving: list[Pod]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    def volumes() -> list[Volume]:
        return draw(st.lists(sort, max_size=2))

    def made(name: str, namespace: str = "default") -> Pod:
        built = pod(name, namespace)
        for each in volumes():
            built.volume(each)
        return built.obj()

    sort = draw(st.sampled_from([CLAIMS, DISKS, CLAIMS | DISKS]))
    running = []
    for number in range(draw(st.integers(0, 5))):
        user = made(f"r{number}", draw(st.sampled_from(["default", "default", "other"])))
        user.spec.node_name = draw(st.sampled_from([*NODES, GHOST]))
        running.append(user)
    nominated = []
    for number in range(draw(st.integers(0, 2))):
        user = made(f"m{number}", draw(st.sampled_from(["default", "default", "other"])))
        user.status.nominated_node_name = draw(st.sampled_from(NODES))
        nominated.append(user)
    on_nodes = [user for user in running if user.spec.node_name != GHOST]
    leaving = [user for user in on_nodes if draw(st.booleans())]
    return Case(running, nominated, made("p"), leaving)


def oracle_clash(one: Volume, other: Volume) -> bool:
    if one.aws_elastic_block_store and other.aws_elastic_block_store:
        return one.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if one.gce_persistent_disk and other.gce_persistent_disk:
        both_read = one.gce_persistent_disk.read_only and other.gce_persistent_disk.read_only
        return not both_read and one.gce_persistent_disk.pd_name == other.gce_persistent_disk.pd_name
    if one.iscsi and other.iscsi:
        return not (one.iscsi.read_only and other.iscsi.read_only) and one.iscsi.iqn == other.iscsi.iqn
    if one.rbd and other.rbd:
        shared = any(monitor in other.rbd.monitors for monitor in one.rbd.monitors)
        return shared and not (one.rbd.read_only and other.rbd.read_only) and one.rbd.image == other.rbd.image
    return False


def claims_of(user: Pod) -> list[str]:
    return [
        each.persistent_volume_claim.claim_name
        for each in user.spec.volumes
        if each.persistent_volume_claim is not None
    ]


def oracle(case: Case, *, moved: bool) -> dict[str, int] | None:
    """Failure codes by node; None when there is nothing to do."""
    wanted = set(claims_of(case.waiting)) & EXCLUSIVE
    in_use = {
        name
        for user in case.running
        if user.spec.node_name in NODES and user.metadata.namespace == "default"
        for name in claims_of(user)
    }
    conflicts = len(wanted & in_use)
    if not conflicts and all(each.persistent_volume_claim for each in case.waiting.spec.volumes):
        return None
    codes = {}
    for name in NODES:
        here = [user for user in case.running if user.spec.node_name == name]
        count = conflicts
        if moved:
            coming = [user for user in case.nominated if user.status.nominated_node_name == name]
            going = [user for user in here if user in case.leaving]
            count += sum(used in wanted for user in coming for used in claims_of(user))
            count -= sum(used in wanted for user in going for used in claims_of(user))
            here = [user for user in here if user not in going] + coming
        disk = any(
            oracle_clash(mine, theirs)
            for mine in case.waiting.spec.volumes
            for user in here
            for theirs in user.spec.volumes
        )
        codes[name] = CODE_DISK if disk else CODE_CLAIM if count > 0 else 0
    return codes


@examples(200)
@given(cases())
def test_arrays_agree_with_one_pod_at_a_time(case: Case) -> None:
    """Verdicts as things are, and in worlds where pods left and nominated pods came."""
    claims = [
        claim(name).modes("ReadWriteOncePod" if name in EXCLUSIVE else "ReadWriteOnce").obj()
        for name in ("c0", "c1", "c2")
    ]
    cache = cache_of(*(node(name).obj() for name in NODES), *claims, *case.running, *case.nominated)
    plugin = VolumeRestrictions()
    _, view, outcome = prepared(plugin, cache, case.waiting)
    assert not isinstance(outcome, Status)
    if isinstance(outcome, Skip):
        assert oracle(case, moved=False) is None
        return

    def codes(state: object) -> dict[str, int]:
        found = plugin.filter(state, view, ALL_ROWS)  # type: ignore[arg-type]
        return {name: int(found[view.nodes.rows_by_name[name]]) for name in NODES}

    assert codes(outcome.state) == oracle(case, moved=False)
    forked = plugin.fork(outcome.state, view)
    for users, sign in ((case.leaving, -1), (case.nominated, +1)):
        names = [user.spec.node_name or user.status.nominated_node_name for user in users]
        keys = [f"{user.metadata.namespace}/{user.metadata.name}" for user in users]
        pod_rows = row_array([view.pods.rows_by_key[key] for key in keys])
        plugin.shift(forked, view, pod_rows, row_array([view.nodes.rows_by_name[name] for name in names]), sign)
    assert codes(forked) == oracle(case, moved=True)
    assert codes(outcome.state) == oracle(case, moved=False)
