"""Audits where pod groups are on: members are placed together, and all of a gang or nothing."""

from __future__ import annotations

from typing import Any

from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of, racks

from bayplan.analysis.answers.audit.rules import Finding
from bayplan.testing import builders as make

COMPLETE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [{"name": "bayplan", "args": {"wakeups": "complete"}}]}],
}


def found(*built: Any, config: dict[str, Any] | None = None, gates: str = ON) -> dict[str, Finding]:
    """By rule; where several objects break one, the last."""
    findings = cluster_of(*built).audit(config, feature_gates=gates).findings
    return {each.rule: each for each in findings}


def gang(size: int, *nodes: str, cpu: str = "3", within: str = "", priority: int = 0) -> list[Any]:
    """Some of the pods run on these nodes, and a Job made them."""
    group = make.pod_group("g").gang(size).priority(priority)
    members = [
        make.pod(f"g-{at}").cpu(cpu).memory("1Gi").in_group("g").priority(priority).owner("Job", "train")
        for at in range(size)
    ]
    for pod, node in zip(members, nodes, strict=False):
        pod.running(node)
    return [group.within(within) if within else group, *members]


def test_a_gang_that_is_too_large_for_one_domain_never_fits() -> None:
    finding = found(*racks(2, 2), *gang(3, within="rack"))["group-never-fits"]
    assert finding.object == "PodGroup default/g"
    assert finding.why.startswith("0/2 nodes are available: 2 Insufficient cpu")
    assert "group-never-fits" not in found(*racks(2, 3), *gang(3, within="rack"))


def test_pods_of_several_workloads_are_tried_as_one_group() -> None:
    """Each Job alone does not have enough pods."""
    member = make.pod("t").cpu("3").memory("1Gi").in_group("g")
    jobs = [make.job(f"j{at}").set(parallelism=2, completions=2).template(member) for at in range(2)]
    assert "group-never-fits" not in found(*racks(4), make.pod_group("g").gang(4), *jobs)
    assert found(*racks(3), make.pod_group("g").gang(4), *jobs)["group-never-fits"].object == "PodGroup default/g"


def test_what_more_than_the_quorum_does_not_fit_is_said_of_the_group() -> None:
    group = [make.pod_group("g").gang(2), *gang(3)[1:]]
    finding = found(*racks(2), *group)["too-many-replicas"]
    assert finding.object == "PodGroup default/g"
    assert finding.why.startswith("only 2 of its 3 pods fit into the empty cluster; then: 0/2 nodes are available")


def test_a_group_that_lacks_pods_is_said_to_lack_them_and_nothing_else() -> None:
    rules = found(*racks(1), make.pod_group("g").gang(3), *gang(3)[1:3])
    assert {"group-too-small"} == {rule for rule in rules if rule.startswith("group")}


def test_a_failing_node_takes_a_member_that_fits_elsewhere_in_its_domain_alone() -> None:
    running = gang(2, "r0-0", "r0-1", within="rack")
    strands = found(*racks(2, 1), *running)["node-failure-strands"]
    assert (strands.object, strands.nodes) == ("Job default/train", ("r0-0", "r0-1"))
    assert "node-failure-strands" not in found(*racks(3), *running)


def test_a_group_that_loses_its_node_evicts_a_unit_whose_pods_are_all_placed_anew() -> None:
    unit = make.pod_group("low").gang(2).disrupted_as_a_whole()
    low = [make.pod(f"low-{at}").cpu("3").memory("1Gi").in_group("low").running(f"r0-{at + 1}") for at in range(2)]
    findings = found(*racks(3), *gang(1, "r0-0", priority=9), unit, *(pod.owner("Job", "low") for pod in low))
    assert findings["node-failure-evicts"].object == "Job default/train"
    assert findings["node-failure-strands"].object == "Job default/low"
    assert "2 of its pods fit nowhere" in findings["node-failure-strands"].why


def strays() -> list[Any]:
    unit = make.pod_group("low").gang(2).disrupted_as_a_whole()
    low = [make.pod(f"low-{at}").cpu("3").memory("1Gi").in_group("low") for at in range(2)]
    return [unit, low[0].running("r0-0"), low[1].running("gone")]


def test_a_member_on_a_deleted_node_is_reported_unless_such_groups_are_left_out() -> None:
    finding = found(*racks(1), *strays())["group-on-missing-node"]
    assert finding.why == "default/low-1 is on gone, which does not exist"
    assert "group-on-missing-node" not in found(*racks(1), *strays(), config=COMPLETE)


def test_as_long_as_it_is_there_no_group_can_preempt() -> None:
    other = make.pod("other").cpu("3").memory("1Gi").owner("ReplicaSet", "web").running("r0-2")
    running = [*racks(3), *strays(), *gang(1, "r0-1", priority=9), other]
    findings = cluster_of(*running).audit(feature_gates=ON).findings
    said = [each.why for each in findings if each.object == "Job default/train" and each.rule == "node-failure-strands"]
    assert "failed to get node info" in said[0]
    cured = found(*running, config=COMPLETE)["node-failure-evicts"]
    assert (cured.object, cured.nodes) == ("Job default/train", ("r0-1",))


def test_groups_that_wait_for_each_other_are_named() -> None:
    halves = [make.pod(f"{name}-{at}").cpu("3").memory("1Gi").in_group(name) for name in "xy" for at in range(2)]
    halves[0].running("r0-0")
    halves[2].running("r0-1")
    finding = found(*racks(2), make.pod_group("x").gang(2), make.pod_group("y").gang(2), *halves)["groups-deadlocked"]
    assert finding.why == (
        "default/x waits for pods of default/y, such as default/y-0; "
        "default/y waits for pods of default/x, such as default/x-0"
    )


def test_without_the_gate_pods_are_tried_one_by_one() -> None:
    rules = found(*racks(2, 2), *gang(3, within="rack"), gates="")
    assert {"group-never-fits", "groups-deadlocked"}.isdisjoint(rules)
