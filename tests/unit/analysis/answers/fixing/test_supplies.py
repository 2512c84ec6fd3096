"""Volumes, claims and classes that a pod waits for; each fix is carried out, and the pod placed again."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.devices import asks, claim_of, claim_template, device, device_class, slice_of

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.testing import builders as make

ZONE = "topology.kubernetes.io/zone"
LATE, STATIC = "WaitForFirstConsumer", "kubernetes.io/no-provisioner"
NODE = make.node("n").label(ZONE, "a").obj()
WITH_CLAIM = make.pod("x").claim("data").manifest().obj()
WITH_DEVICE = make.pod("x").resource_claim("gpu", "mine").manifest().obj()
WITH_TEMPLATE = make.pod("x").resource_claim("gpu", template="any").manifest().obj()
FREE_VOLUME = make.volume("v").storage("1Gi").storage_class("static").obj()
BOUND = make.claim("data").bound("v")


def bound() -> list[Object]:
    return [make.volume("v").storage("1Gi").bound_to(BOUND).obj(), deepcopy(BOUND.obj())]


@pytest.mark.parametrize(
    ("there", "change", "provided"),
    [
        pytest.param([WITH_CLAIM], Remedy(RemedyKind.VOLUME_CLAIM, "data"), bound(), id="no claim"),
        pytest.param(
            [WITH_CLAIM, deepcopy(BOUND.obj())],
            Remedy(RemedyKind.LOST_VOLUME, "data", after="v"),
            bound()[:1],
            id="a volume that is gone",
        ),
        pytest.param(
            [WITH_CLAIM, make.claim("data").storage_class("none").obj()],
            Remedy(RemedyKind.STORAGE_CLASS, "data", after="none"),
            [make.storage_class("none", mode=LATE).obj()],
            id="no class",
        ),
        pytest.param(
            [WITH_CLAIM, make.claim("data").storage_class("now").obj(), make.storage_class("now").obj()],
            Remedy(RemedyKind.BINDING, "data"),
            bound(),
            id="not bound yet",
        ),
        pytest.param(
            [
                WITH_CLAIM,
                make.claim("data").storage("1Gi").storage_class("static").obj(),
                make.storage_class("static", mode=LATE, provisioner=STATIC).obj(),
            ],
            Remedy(RemedyKind.VOLUME, "data", before="1Gi", after="static"),
            [FREE_VOLUME],
            id="no volume",
        ),
        pytest.param(
            [WITH_DEVICE], Remedy(RemedyKind.RESOURCE_CLAIM, "mine"), [claim_of("mine")], id="no resource claim"
        ),
        pytest.param(
            [WITH_TEMPLATE],
            Remedy(RemedyKind.RESOURCE_CLAIM_TEMPLATE, "any"),
            [claim_template("any")],
            id="no template",
        ),
        pytest.param(
            [WITH_DEVICE, claim_of("mine", asks("r", of="gpu")), slice_of("n", device("d"))],
            Remedy(RemedyKind.DEVICE_CLASS, "gpu"),
            [device_class("gpu")],
            id="no device class",
        ),
    ],
)
def test_what_is_missing_is_named_and_enough(there: list[Object], change: Remedy, provided: list[Object]) -> None:
    objects = deepcopy([NODE, *there])
    found = {fix.changes: fix for fix in Cluster(deepcopy(objects)).fix("x").fixes}
    fix = found[change,]
    assert (fix.nodes[0], fix.victims, bool(fix.patches[0].note)) == ("n", (), True)
    names = {(type(obj), obj.metadata.name) for obj in provided}
    others = [obj for obj in objects if (type(obj), obj.metadata.name) not in names]
    assert Cluster([*others, *deepcopy(provided)]).place(["default/x"]).decisions[0].node == "n"


def test_all_that_is_missing_is_one_fix() -> None:
    wanting = make.pod("x").claim("data").claim("logs").manifest().obj()
    (fix,) = Cluster([NODE, wanting]).fix("x").fixes
    assert [change.what for change in fix.changes] == ["data", "logs"]


def test_whatever_else_is_in_the_way_is_part_of_the_fix() -> None:
    wanting = make.pod("x").cpu("99").claim("data").manifest().obj()
    (fix,) = Cluster([deepcopy(NODE), wanting]).fix("x").fixes
    assert [change.kind for change in fix.changes] == [RemedyKind.REQUEST, RemedyKind.VOLUME_CLAIM]
    assert (fix.nodes[0], fix.changes[0].after) == ("n", 4000)


def test_nothing_is_provided_for_a_pod_that_lacks_something_else() -> None:
    late = make.storage_class("late", mode=LATE).obj()
    wanting = make.pod("x").cpu("99").claim("data").manifest().obj()
    answer = Cluster([deepcopy(NODE), late, make.claim("data").storage_class("late").obj(), wanting]).fix("x")
    assert [[change.kind for change in fix.changes] for fix in answer.fixes] == [[RemedyKind.REQUEST]]


def test_a_new_node_is_where_the_volume_is() -> None:
    volume = make.volume("v").storage("1Gi").bound_to(BOUND).node_affinity(f"{ZONE}=b").obj()
    objects: list[Object] = [NODE, WITH_CLAIM, volume, deepcopy(BOUND.obj())]
    (fix,) = Cluster(deepcopy(objects)).fix("x").fixes
    assert fix.changes == (Remedy(RemedyKind.ADD_NODE, "n", after=f"{ZONE}=b"),)
    added = make.node("n-copy").label(ZONE, "b").obj()
    assert isinstance(added, Node)
    assert Cluster([*deepcopy(objects), added]).place(["default/x"]).decisions[0].node == fix.nodes[0]


def test_a_claim_for_devices_that_nobody_has_can_be_dropped() -> None:
    objects: list[Object] = [NODE, WITH_DEVICE, claim_of("mine", asks("r", of="gpu")), device_class("gpu")]
    (fix,) = Cluster(deepcopy(objects)).fix("x").fixes
    assert fix.changes == (Remedy(RemedyKind.DEVICE_CLAIM, "gpu"),)
    assert "/spec/resourceClaims" in fix.patches[0].command
