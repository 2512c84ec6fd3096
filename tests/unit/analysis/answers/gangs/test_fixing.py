"""What would let a gang run: each fix is carried out on a cluster of its own, where the whole gang then gets nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of, gang, racks
from tests.unit.analysis.answers.gangs.test_remedies import cordoned

from bayplan.analysis.answers.fixing.answer import Fixes
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make


def fixes(*built: Any, pod: str = "podgroup/g") -> Fixes:
    return cluster_of(*built).fix(pod, feature_gates=ON)


def told(answer: Fixes) -> dict[str, int]:
    """Kinds of changes -> how many pods run then."""
    return {"+".join(f"{change.kind.value} {change.what}" for change in fix.changes): fix.fixed for fix in answer.fixes}


def job(size: int, cpu: str = "3") -> list[Any]:
    template = make.pod("x").cpu(cpu).in_group("g").manifest()
    return [
        make.pod_group("g").gang(size),
        make.job("train").template(template).set(parallelism=size, completions=size),
    ]


def test_nodes_requests_and_the_quorum_are_changed() -> None:
    found = told(fixes(*racks(2), cordoned("spare"), *job(3)))
    assert found == {"uncordon spare": 3, "request cpu": 3, "addNode r0-0": 3, "minCount default/g": 2}


def test_as_many_nodes_are_added_as_it_takes() -> None:
    assert told(fixes(*racks(1), *job(4)))["addNode r0-0+addNode r0-0+addNode r0-0"] == 4


def test_requests_are_lowered_for_all_pods_of_the_gang_at_once() -> None:
    """Two on each node: lowering what the pods that are left ask for would not do."""
    (request,) = [
        change for fix in fixes(*racks(2), *job(4)).fixes for change in fix.changes if change.kind.value == "request"
    ]
    assert (request.before, request.after) == (3000, 2000)


def test_a_domain_is_made_large_enough() -> None:
    group, *members = gang(3, within="rack")
    found = told(fixes(*racks(2, 2), cordoned("spare", rack="r1"), group, *members))
    assert found["uncordon spare"] == 3


def test_a_gang_that_lacks_pods_can_be_content_with_fewer() -> None:
    answer = fixes(*racks(3), make.pod_group("g").gang(3), *gang(2)[1:])
    assert told(answer) == {"minCount default/g": 2}
    (patch,) = answer.fixes[0].patches
    assert patch.command == (
        "kubectl patch podgroup g --namespace default --type merge --patch "
        """'{"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}'"""
    )


def test_pods_without_a_workload_are_each_changed() -> None:
    answer = fixes(*racks(1), *gang(2))
    patches = next(fix.patches for fix in answer.fixes if fix.changes[0].kind.value == "request")
    assert [name in patch.command for name, patch in zip(("g-0", "g-1"), patches, strict=True)] == [True, True]


def test_manifests_of_alike_pods_are_changed_by_one_command() -> None:
    members = [make.pod(f"g-{number}").cpu("3").in_group("g").manifest() for number in range(2)]
    answer = fixes(*racks(1), make.pod_group("g").gang(2), *members)
    (lowered,) = [fix for fix in answer.fixes if fix.changes[0].kind.value == "request"]
    assert [patch.note for patch in lowered.patches] == ["The pod is not in a cluster yet: change its manifest."]


def test_pods_that_are_as_they_should_be_are_left_alone() -> None:
    small = [make.pod(name).cpu("2").in_group("g").manifest() for name in ("g-0", "g-1")]
    large = make.pod("large").cpu("6").in_group("g").manifest()
    answer = fixes(*racks(2), make.pod_group("g").gang(3), *small, large)
    (lowered,) = [fix for fix in answer.fixes if fix.changes[0].kind.value == "request"]
    assert [patch.command.count('"op"') for patch in lowered.patches] == [1]


def test_a_pod_of_a_group_means_the_group() -> None:
    assert told(fixes(*racks(1), *gang(2), pod="g-1")) == told(fixes(*racks(1), *gang(2)))


def test_a_group_that_fits_needs_no_fix() -> None:
    answer = fixes(*racks(2), *gang(2))
    assert (answer.is_fine, answer.fits_on, answer.pending) == (True, "r0-0", 2)


def test_a_group_that_preempts_needs_no_fix() -> None:
    low = make.pod("low").cpu("3").running("r0-0")
    assert fixes(*racks(2), low, *gang(2, priority=5)).victims == ("default/low",)


def test_a_group_that_runs_needs_no_fix() -> None:
    group, *members = gang(2)
    assert fixes(*racks(2), group, *(m.running(f"r0-{at}") for at, m in enumerate(members))).runs_on == "r0-0, r0-1"


def test_groups_have_to_be_switched_on() -> None:
    with pytest.raises(InvalidObject, match=r"pod groups are off in Kubernetes 1\.37"):
        cluster_of(*racks(1), *gang(2)).fix("podgroup/g")
