"""NodeVolumeLimits over all nodes against one node and one volume at a time, with pods really moved."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, prepared, verdicts
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import Ready
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSINode,
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource, Volume
from bayplan.testing.builders import claim, csi_node, node, pod, storage_class, volume
from bayplan.testing.pods import PodBuilder

NODES = ["n0", "n1"]
AWS = "ebs.csi.aws.com"
PROVISIONERS = {"class-x": "x", "class-aws": "kubernetes.io/aws-ebs"}
VOLUME_NAMES = ["v0", "v1", "v2", "v3"]
CLAIM_NAMES = [f"c{number}" for number in range(6)]


@dataclass
class Case:
    """A cluster, the pod to place, and who moves."""

    claims: dict[str, PersistentVolumeClaim]
    volumes: dict[str, PersistentVolume]
    csi_nodes: dict[str, CSINode]
    attachments: list[VolumeAttachment]
    running: list[Pod]
    nominated: list[Pod]
    waiting: Pod
    leaving: list[Pod]

    def objects(self) -> list[Object]:
        classes = [storage_class(name, provisioner=made).obj() for name, made in PROVISIONERS.items()]
        nodes = [node(name).obj() for name in NODES]
        return [
            *nodes, *classes, *self.claims.values(), *self.volumes.values(), *self.csi_nodes.values(), *self.attachments
        ]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Case:
    volumes = {}
    for name in VOLUME_NAMES:
        built = volume(name)
        if draw(st.integers(0, 3)):
            driver, handle = draw(st.sampled_from(["x", "x", AWS])), draw(st.sampled_from(["vol-0", "vol-1", "vol-2"]))
            built.set(csi=CSIPersistentVolumeSource(driver=driver, volume_handle=handle))
        else:
            disk = draw(st.sampled_from(["vol-0", "aws:///vol-1", "aws://bad"]))
            built.set(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=disk))
        volumes[name] = built.obj()
    claims = {}
    for name in CLAIM_NAMES[:5]:
        wanted = claim(name).storage_class(draw(st.sampled_from([*PROVISIONERS, "class-none"])))
        bound = draw(st.sampled_from(["v0", "v1", "v2", "v3", "", "v-gone"]))
        claims[name] = (wanted.bound(bound) if bound else wanted).obj()
    csi_nodes = {}
    for name in NODES:
        if draw(st.integers(0, 5)):
            limits = st.sampled_from([1, 2, 3, 4, None])
            csi_nodes[name] = csi_node(name).driver("x", count=draw(limits)).driver(AWS, count=draw(limits)).obj()
    attachments = [
        VolumeAttachment(
            metadata=ObjectMeta(name=f"a{number}"),
            spec=VolumeAttachmentSpec(
                attacher=draw(st.sampled_from(["x", "x", AWS])),
                node_name=draw(st.sampled_from(NODES)),
                source=VolumeAttachmentSource(persistent_volume_name=draw(st.sampled_from(VOLUME_NAMES))),
            ),
        )
        for number in range(draw(st.integers(0, 5)))
    ]

    def made(name: str, claim_names: list[str], *, most: int = 2) -> PodBuilder:
        built = pod(name)
        for claim_name in draw(st.lists(st.sampled_from(claim_names), min_size=1, max_size=most)):
            built.claim(claim_name)
        if draw(st.integers(0, 3)) == 0:
            disk = AWSElasticBlockStoreVolumeSource(volume_id=draw(st.sampled_from(["vol-0", "vol-2"])))
            built.volume(Volume(name="inline", aws_elastic_block_store=disk))
        return built

    running = [
        made(f"r{number}", CLAIM_NAMES).node(draw(st.sampled_from(NODES))).obj()
        for number in range(draw(st.integers(2, 7)))
    ]
    nominated = [
        made(f"m{number}", CLAIM_NAMES).nominated(draw(st.sampled_from(NODES))).obj()
        for number in range(draw(st.integers(0, 4)))
    ]
    waiting = made("p", CLAIM_NAMES[:5], most=3).obj()
    leaving = [user for user in running if draw(st.booleans())]
    return Case(claims, volumes, csi_nodes, attachments, running, nominated, waiting, leaving)


def disk_of(case: Case, each: Volume) -> tuple[str, str] | None:
    """Driver and handle on a node that has a CSINode."""
    if each.aws_elastic_block_store is not None:
        return AWS, each.aws_elastic_block_store.volume_id
    assert each.persistent_volume_claim is not None
    wanted = case.claims.get(each.persistent_volume_claim.claim_name)
    if wanted is None:
        return None
    bound = case.volumes.get(wanted.spec.volume_name)
    if bound is None:
        provisioner = PROVISIONERS.get(wanted.spec.storage_class_name or "")
        driver = AWS if provisioner == "kubernetes.io/aws-ebs" else provisioner
        return (driver, f"to be made: {wanted.metadata.name}") if driver else None
    if bound.spec.csi is not None:
        return bound.spec.csi.driver, bound.spec.csi.volume_handle
    assert bound.spec.aws_elastic_block_store is not None
    disk = bound.spec.aws_elastic_block_store.volume_id
    return None if disk == "aws://bad" else (AWS, disk.removeprefix("aws:///"))


def oracle_passes(case: Case, name: str, here: list[Pod]) -> bool:
    made = case.csi_nodes.get(name)
    if made is None:
        return True
    new = {disk for each in case.waiting.spec.volumes if (disk := disk_of(case, each))}
    attached = {disk for user in here for each in user.spec.volumes if (disk := disk_of(case, each))}
    also = set()
    for attachment in case.attachments:
        source = case.volumes[attachment.spec.source.persistent_volume_name or ""]
        if attachment.spec.node_name == name and source.spec.csi is not None:
            also.add((attachment.spec.attacher, source.spec.csi.volume_handle))
    for driver in made.spec.drivers:
        wanted = [disk for disk in new - attached if disk[0] == driver.name]
        if not wanted or driver.allocatable is None or driver.allocatable.count is None:
            continue
        count = sum(disk[0] == driver.name for disk in attached | also)
        if count + len(wanted) > driver.allocatable.count:
            return False
    return True


@examples(120)
@given(cases())
def test_arrays_agree_with_one_node_at_a_time(case: Case) -> None:
    """Every node gets the verdict of the slow version."""
    found = verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(*case.objects(), *case.running), case.waiting)
    for name in NODES:
        here = [user for user in case.running if user.spec.node_name == name]
        assert (found[name].ok if found else True) == oracle_passes(case, name, here)


@examples(120)
@given(cases())
def test_what_if_agrees_with_pods_really_moved(case: Case) -> None:
    """In each node's world its own pods have left and its nominated pods have come; the first state stays."""
    plugin = NodeVolumeLimits(gates=DEFAULT_GATES)
    cache = cache_of(*case.objects(), *case.running, *case.nominated)
    _, view, outcome = prepared(plugin, cache, case.waiting)
    if not isinstance(outcome, Ready):
        return
    before = plugin.filter(outcome.state, view, ALL_ROWS)
    forked = plugin.fork(outcome.state, view)
    for users, sign in ((case.leaving, -1), (case.nominated, +1)):
        names = [user.spec.node_name or user.status.nominated_node_name for user in users]
        pod_rows = row_array([view.pods.rows_by_key[f"default/{user.metadata.name}"] for user in users])
        plugin.shift(forked, view, pod_rows, row_array([view.nodes.rows_by_name[name] for name in names]), sign)
    after = plugin.filter(forked, view, ALL_ROWS)
    for name in NODES:
        stayed = [user for user in case.running if user.spec.node_name == name and user not in case.leaving]
        came = [user for user in case.nominated if user.status.nominated_node_name == name]
        assert (after[view.nodes.rows_by_name[name]] == 0) == oracle_passes(case, name, stayed + came)
    assert (plugin.filter(outcome.state, view, ALL_ROWS) == before).all()
