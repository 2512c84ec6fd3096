"""Stories of groups: what is said of each step, on the smallest examples. Recorded ones are in tests/parity."""

from __future__ import annotations

from typing import Any

from bayplan.testing import play_group_story

GATES = {"GenericWorkload": True}


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    capacity = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    status = {"capacity": capacity, "allocatable": capacity}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, group: str = "", cpu: str = "1", on: str = "", priority: int = 0) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
        "schedulerName": "default-scheduler",
        "priority": priority,
    }
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if on:
        spec["nodeName"] = on
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def gang(name: str, min_count: int, priority: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, "priority": priority},
    }


def play(objects: list[dict[str, Any]], *steps: dict[str, Any]) -> list[dict[str, Any]]:
    told = play_group_story(objects, [{"cycles": 9, **step} for step in steps], GATES, "1.37")
    played: list[dict[str, Any]] = told["steps"]
    return played


def test_a_gang_comes_together_and_is_bound_as_one() -> None:
    first, second = play([node("a"), gang("g", 2), pod("x", "g")], {}, {"apply": [pod("y", "g")]})
    assert first["queues"] == {"default/x": "gated"}
    assert first["cycles"] == []
    assert [cycle["group"] for cycle in second["cycles"]] == ["default/g"]
    assert second["placed"] == {"default/x": "a", "default/y": "a"}
    assert second["conditions"]["default/g"]["status"] == "True"


def test_two_gangs_that_compete_for_the_same_room_do_not_deadlock() -> None:
    """Each needs all of the node: one gets it whole, the other nothing."""
    objects = [node("a"), gang("g", 4), gang("h", 4)]
    pods = [pod(f"{name}{number}", name) for number in range(4) for name in ("g", "h")]
    first, second, third = play(
        objects,
        {"apply": pods},
        {"delete": [f"Pod default/g{number}" for number in range(4)]},
        {"advance": 5},
    )
    assert set(first["placed"]) == {f"default/g{number}" for number in range(4)}
    assert set(first["queues"].values()) == {"backoff"}
    assert second["placed"] == {}, "a group waits for its backoff, whatever happens"
    assert set(third["placed"]) == {f"default/h{number}" for number in range(4)}


def test_a_gang_preempts_and_takes_the_room_when_its_victims_are_gone() -> None:
    objects = [node("a"), pod("low", cpu="3", on="a"), gang("g", 2, priority=5)]
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    first, second = play(objects, {"apply": members}, {"advance": 5})
    (cycle,) = first["cycles"]
    assert cycle["evicted"] == ["default/low"]
    assert {each["nominated"] for each in cycle["pods"].values()} == {"a"}
    assert set(first["queues"].values()) == {"backoff"}
    assert second["placed"] == {"default/x": "a", "default/y": "a"}


def test_binding_comes_before_preemption() -> None:
    """Those of a gang that fit are bound first; for the rest preemption is tried at once, in a cycle of its own."""
    objects = [node("a"), pod("low", cpu="2", on="a"), gang("g", 1, priority=5)]
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    (step,) = play(objects, {"apply": members})
    assert [sorted(cycle["pods"]) for cycle in step["cycles"]] == [["default/x", "default/y"], ["default/y"]]
    assert step["cycles"][1]["evicted"] == ["default/low"]
    assert step["conditions"]["default/g"]["status"] == "True", "once scheduled it stays so"
