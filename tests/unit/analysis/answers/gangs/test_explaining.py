"""Why a group waits: members, the first that does not fit, domains, changes that would help, and preemption."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


def cluster_of(*built: Any) -> Cluster:
    return Cluster.from_objects([each.dict() for each in built], "1.37")


def racks(*sizes: int) -> list[Any]:
    """Racks r0, r1, … with so many nodes of 4 CPUs each."""
    return [
        make.node(f"r{rack}-{number}").capacity(cpu="4", memory="64Gi", pods=20).labels(rack=f"r{rack}")
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]


def gang(size: int, cpu: str = "3", *, within: str = "", priority: int = 0) -> list[Any]:
    group = make.pod_group("g").gang(size).priority(priority)
    members = [make.pod(f"g-{number}").cpu(cpu).in_group("g").priority(priority) for number in range(size)]
    return [group.within(within) if within else group, *members]


def explained(*built: Any) -> dict[str, Any]:
    return cluster_of(*built).explain_group("g", feature_gates=ON).document()


def test_members_that_fit_are_told_apart_from_those_that_do_not() -> None:
    found = explained(*racks(2), *gang(4))
    assert found["fitting"] == {"default/g-0": "r0-0", "default/g-1": "r0-1"}
    assert found["aloneOn"] == dict.fromkeys([f"default/g-{number}" for number in range(4)], 2)
    assert found["firstUnfit"]["pod"] == "default/g-2"


def test_the_first_member_that_does_not_fit_says_why_node_by_node() -> None:
    tainted = make.node("t").capacity(cpu="4", memory="64Gi", pods=20).taint("dedicated", "web")
    unfit = explained(*racks(1), tainted, *gang(2))["firstUnfit"]
    assert {node: status["plugin"] for node, status in unfit["nodes"].items()} == {
        "r0-0": "NodeResourcesFit",
        "t": "TaintToleration",
    }
    assert [(cause["cause"], cause["nodes"]) for cause in unfit["causes"]] == [
        ("taint dedicated=web:NoSchedule", ["t"]),
        ("too little cpu (3 requested, at most 1 free)", ["r0-0"]),
    ]
    assert [(lack["asked"], lack["free"], lack["mostFree"]) for lack in unfit["lacks"]] == [(3000, 5000, 4000)]


def test_members_behind_the_one_that_ended_the_attempt_are_looked_at_as_well() -> None:
    """The scheduler stops at the first that leaves too few; a smaller one behind it would fit all the same."""
    group, first, second, _ = gang(3)
    small = make.pod("g-2").cpu("1").in_group("g")
    found = explained(*racks(1), group, first, second, small)
    assert found["fitting"] == {"default/g-0": "r0-0", "default/g-2": "r0-0"}


def test_the_domain_that_comes_closest_is_named_with_what_it_lacks() -> None:
    found = explained(*racks(2, 3, 1), *gang(4, within="rack"))
    assert [(each["name"], each["fitting"]) for each in found["domains"]] == [("r1", 3), ("r0", 2), ("r2", 1)]
    assert set(found["firstUnfit"]["nodes"]) == {"r1-0", "r1-1", "r1-2"}
    assert (found["within"], found["needed"]) == ("rack", 4)


def test_no_node_has_the_label_of_the_domains() -> None:
    found = explained(*racks(2), *gang(2, within="pod-of-racks"))
    assert found["firstUnfit"]["message"] == (
        "no feasible placements found: no node that may take it has the label pod-of-racks"
    )
    assert (found["fitting"], found["domains"]) == ({}, [])


def test_a_group_that_fits_lacks_nothing() -> None:
    found = explained(*racks(3), *gang(3))
    assert (found["firstUnfit"], found["bestChanges"]) == (None, [])
    assert len(found["fitting"]) == 3


def test_pods_that_a_job_is_yet_to_create_are_members() -> None:
    template = make.pod("x").cpu("3").in_group("g").manifest()
    found = explained(
        *racks(2), make.pod_group("g").gang(3), make.job("train").template(template).set(parallelism=3, completions=3)
    )
    assert (len(found["order"]), len(found["fitting"])) == (3, 2)


def test_units_of_lower_priority_say_whether_they_could_stay() -> None:
    """Of two that could go only the one on a node that the group is to have does."""
    low = make.pod_group("low").gang(2).disrupted_as_a_whole()
    running = [make.pod(f"low-{at}").cpu("3").in_group("low").running(f"r0-{at + 2}") for at in range(2)]
    other = make.pod("other").cpu("3").running("r0-0")
    found = explained(*racks(4), low, *running, other, *gang(2, priority=9))
    assert [(each["group"], each["pods"], each["stays"]) for each in found["units"]] == [
        ("default/low", ["default/low-0", "default/low-1"], True),
        (None, ["default/other"], False),
    ]
    assert found["preemption"]["evicted"] == ["default/other"]


def test_all_groups_of_a_workload() -> None:
    groups = [make.pod_group(name).gang(1).of_workload("train") for name in ("a", "b")]
    members = [make.pod(name).cpu(cpu).in_group(name) for name, cpu in (("a", "1"), ("b", "9"))]
    other = [make.pod_group("c").gang(1), make.pod("c").cpu("9").in_group("c")]
    found = cluster_of(*racks(1), *groups, *members, *other).explain_workload("train", feature_gates=ON)
    assert [(group.key, group.fits) for group in found.groups] == [("default/a", True), ("default/b", False)]
    assert not found.fits


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("trian", r"workload/default/trian: no PodGroup in the input refers to it; did you mean default/train\?"),
        ("alone", r"no PodGroup in the input refers to it; did you mean podgroup/alone\?"),
        ("nothing", "workload/default/nothing: no PodGroup in the input refers to it"),
    ],
)
def test_a_workload_that_no_group_refers_to(asked: str, said: str) -> None:
    cluster = cluster_of(make.pod_group("a").gang(1).of_workload("train"), make.pod_group("alone").gang(1))
    with pytest.raises(InvalidObject, match=said):
        cluster.explain_workload(asked, feature_gates=ON)


def test_groups_have_to_be_switched_on() -> None:
    with pytest.raises(
        InvalidObject, match=r"pod groups are off in Kubernetes 1.37 unless the gate GenericWorkload is on"
    ):
        cluster_of(*gang(1)).explain_group("g")


def test_a_misspelled_group() -> None:
    with pytest.raises(
        InvalidObject, match=r"podgroup/default/tarin: not found in the input; did you mean default/train\?"
    ):
        cluster_of(make.pod_group("train").gang(1)).explain_group("tarin", feature_gates=ON)
