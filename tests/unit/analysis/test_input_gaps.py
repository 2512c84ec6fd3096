"""Which kinds are missing from an input, and what is left of pods without them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.input_gaps import DEVICE_KINDS, DUMP_KINDS, KnownClaims, dump_command, gaps_in
from bayplan.analysis.references import parse_object_name
from bayplan.model.kinds import KINDS
from bayplan.testing import builders as make
from bayplan.testing.selecting import selector

ZONE = "topology.kubernetes.io/zone"
NODE = make.node("a")
SERVICE = make.service("kubernetes")
BOUND = make.claim("data").bound("disk")
ELSEWHERE = make.pod("p").pod_affinity(ZONE, {"app": "db"}, namespace_selector=selector({"team": "a"}))


def missing(*built: Any) -> dict[str, int]:
    """Kind -> how many objects refer to it."""
    return {gap.kind.__name__: gap.references for gap in gaps_in([each.obj() for each in (SERVICE, *built)])}


@pytest.mark.parametrize(
    ("built", "kinds"),
    [
        pytest.param([make.pod("p").claim("data")], {"PersistentVolumeClaim": 1}, id="a claim"),
        pytest.param([make.pod("p").claim("data"), make.claim("other")], {}, id="a claim that is missing among others"),
        pytest.param([BOUND], {"PersistentVolume": 1}, id="the volume of a claim"),
        pytest.param([BOUND, make.volume("disk")], {}, id="a volume that is there"),
        pytest.param([make.claim("data").storage_class("fast")], {"StorageClass": 1}, id="a class"),
        pytest.param([make.pod("p").running("a")], {"Node": 1}, id="nodes"),
        pytest.param([make.pod("p").owner("ReplicaSet", "web")], {"ReplicaSet": 1}, id="the owner of a pod"),
        pytest.param([make.pod("p").owner("ReplicaSet", "web").manifest()], {}, id="an owner in a pod written by hand"),
        pytest.param([make.pod("p").owner("Rollout", "web")], {}, id="an owner of a kind that cannot be read"),
        pytest.param(
            [make.replica_set("web").template(make.pod("p")).owner("Deployment", "web")],
            {"Deployment": 1},
            id="the owner of a ReplicaSet",
        ),
        pytest.param([make.pod("p").priority(5, class_name="high")], {"PriorityClass": 1}, id="a PriorityClass"),
        pytest.param([make.pod("p").priority(5, class_name="system-node-critical")], {}, id="a class of every cluster"),
        pytest.param([ELSEWHERE], {"Namespace": 1}, id="a selector of namespaces"),
        pytest.param([make.pod("p"), make.pod("q").claim("data")], {"PersistentVolumeClaim": 1}, id="one pod of two"),
    ],
)
def test_kinds_that_are_referred_to_and_absent(built: list[Any], kinds: dict[str, int]) -> None:
    assert missing(*built) == kinds


def test_a_partial_dump_without_services_lacks_them_too() -> None:
    """Every cluster has one, though no pod names it."""
    partial = make.pod("p").owner("StatefulSet", "db")
    assert [gap.kind.__name__ for gap in gaps_in([partial.obj()])] == ["StatefulSet", "Service"]
    assert gaps_in([make.pod("p").obj()]) == []
    assert [gap.kind.__name__ for gap in gaps_in([make.pod("p").claim("d").manifest().obj()])] == [
        "PersistentVolumeClaim"
    ]


def test_the_command_gets_every_kind() -> None:
    """Device taint rules, pod groups and workloads are not served by default."""
    named = {parse_object_name(f"{kind}/x", KINDS).kind for kind in f"{DUMP_KINDS},{DEVICE_KINDS}".split(",")}
    assert named == KINDS.keys() - {"DeviceTaintRule", "PodGroup", "Workload"}


def test_the_command_gets_devices_where_pods_use_them() -> None:
    claiming = make.pod("p").resource_claim("gpu", claim="one")
    assert DEVICE_KINDS in dump_command(gaps_in([claiming.obj()]))
    assert DEVICE_KINDS not in dump_command(gaps_in([make.pod("p").claim("data").obj()]))


def left(pod: Any, *others: Any) -> list[str]:
    """Names of the volumes that are known."""
    objects = [pod.obj(), *(each.obj() for each in others)]
    return [volume.name for volume in KnownClaims(objects, gaps_in(objects)).only(objects[0]).spec.volumes]


@pytest.mark.parametrize(
    ("others", "known"),
    [
        pytest.param([], [], id="no claims at all"),
        pytest.param([make.claim("other")], ["data"], id="only this claim is missing, so it does not exist"),
        pytest.param([BOUND], [], id="no volumes at all"),
        pytest.param([BOUND, make.volume("other")], ["data"], id="only this volume is missing"),
        pytest.param([make.claim("data").storage_class("fast")], [], id="no classes at all"),
        pytest.param([make.claim("data")], ["data"], id="a claim that needs nothing else"),
    ],
)
def test_claims_about_which_nothing_is_known_are_left_out(others: list[Any], known: list[str]) -> None:
    assert left(make.pod("p").claim("data"), *others) == known
