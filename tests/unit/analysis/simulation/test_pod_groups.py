"""Pod groups in a simulation: gangs are bound together, preempt, and a journal of them can be replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.testing.test_group_stories import gang, node, pod

from bayplan import Cluster, simulate
from bayplan.cli.main import run
from bayplan.testing import builders

GATES = {"GenericWorkload": True}


def played(*objects: dict[str, Any]) -> dict[str, Any]:
    cluster = Cluster.from_objects(objects, kubernetes_version="1.37")
    return simulate(cluster, feature_gates=GATES, until="5m").to_dict()


def bound(result: dict[str, Any]) -> dict[str, str | None]:
    return {each["key"].partition("/")[2]: each["node"] for each in result["pods"]}


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    small = [pod(f"s{number}", "small", cpu="2") for number in range(2)]
    large = [pod(f"l{number}", "large", cpu="2") for number in range(3)]
    result = played(node("a"), gang("small", 2), gang("large", 3), *large, *small)
    assert bound(result) == {"l0": None, "l1": None, "l2": None, "s0": "a", "s1": "a"}
    assert any("minCount (3) cannot be satisfied" in waiting["message"] for waiting in result["waiting"])


def test_a_preemption_for_a_group_is_recorded() -> None:
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    result = played(node("a"), pod("low", cpu="3", on="a"), gang("g", 2, priority=5), *members)
    (preemption,) = result["preemptions"]
    assert [victim["pod"] for victim in preemption["victims"]] == ["default/low"]
    assert preemption["decided"] == "for all pods of default/g"
    assert preemption["forGroup"] == {
        "group": "default/g",
        "proposed": {"default/x": "a", "default/y": "a"},
        "units": [
            {"group": None, "pods": ["default/low"], "priority": 0, "budgetViolations": 0, "stays": False},
        ],
        "unitsLeftOut": 0,
    }
    assert (bound(result)["x"], bound(result)["y"]) == ("a", "a")


def test_budgets_that_a_group_breaks_are_counted() -> None:
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    low = pod("low", cpu="3", on="a") | {"metadata": {"name": "low", "namespace": "default", "labels": {"app": "low"}}}
    budget = builders.budget("b").selects(app="low").allows(0).dict()
    result = played(node("a"), low, budget, gang("g", 2, priority=5), *members)
    assert result["preemptions"][0]["victims"] == [{"pod": "default/low", "priority": 0, "breaks": ["default/b"]}]
    assert result["summary"]["budgetsBroken"] == 1


def test_a_single_pod_that_preempts_a_group_is_recorded_with_what_was_tried() -> None:
    whole = gang("g", 2)
    whole["spec"]["disruptionMode"] = {"all": {}}
    members = [pod("x", "g", cpu="3", on="a"), pod("y", "g", cpu="3", on="b")]
    result = played(node("a"), node("b"), whole, *members, pod("boss", cpu="2", priority=5))
    (preemption,) = result["preemptions"]
    assert [victim["pod"] for victim in preemption["victims"]] == ["default/x", "default/y"]
    chosen, other = preemption["record"]["candidates"]
    assert (chosen["node"], other["node"]) == ("a", "b")
    (reprieve,) = chosen["reprieves"]
    assert (reprieve["pod"], reprieve["together"], reprieve["kept"]) == ("default/x", ["default/y"], False)
    assert other["reprieves"] == []


def test_a_journal_with_groups_can_be_replayed(tmp_path: Path) -> None:
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    objects = [node("a"), pod("low", cpu="3", on="a"), gang("g", 2, priority=5), *members]
    given, journal = tmp_path / "objects.json", tmp_path / "journal"
    given.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    version = ["--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true"]
    assert run(["simulate", "-f", str(given), *version, "--until", "1m", "--journal", str(journal)]) == 0
    assert '"group":"default/g"' in journal.read_text()
    assert run(["replay", str(journal)]) == 0
