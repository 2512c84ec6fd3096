"""Which potential victims a PodDisruptionBudget protects: the budget is spent from the most important pod downward."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.preemption_attempts import tried

from bayplan.model.meta import LabelSelector, LabelSelectorRequirement
from bayplan.testing.builders import BudgetBuilder, budget, node, pod
from bayplan.testing.pods import PodBuilder


def protection(pods: list[PodBuilder], budgets: list[BudgetBuilder]) -> tuple[list[str], dict[str, list[str]]]:
    """The pods that break some budget, and who breaks which; the first pod of the list is the most important."""
    for place, built in enumerate(pods):
        built.cpu("500m").running(built.obj().spec.node_name or "n").priority(100 - place)
    nodes = sorted({built.obj().spec.node_name for built in pods})
    done = tried(pod("wanting").cpu("4").priority(1000), *map(node, nodes), *pods, *budgets)
    potential = done.searched.dry_run.potential
    by_budget = {
        name: done.pods(potential.pod_rows[mask]) for name, mask in sorted(potential.protection.by_budget.items())
    }
    return done.pods(potential.pod_rows[potential.protection.violating]), by_budget


def app(name: str, namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="x")


def guards(disruptions: int, name: str = "pdb", namespace: str = "default", **more: Any) -> BudgetBuilder:
    return budget(name, namespace).selects(app="x").allows(disruptions, **more)


def unparsable() -> LabelSelector:
    return LabelSelector(match_expressions=[LabelSelectorRequirement(key="app", operator="In", values=[])])


def abc() -> list[PodBuilder]:
    return [app("a"), app("b"), app("c")]


CASES: dict[str, tuple[list[PodBuilder], list[BudgetBuilder], list[str]]] = {
    "no budget": (abc(), [], []),
    "none left": (abc(), [guards(0)], ["a", "b", "c"]),
    "the most important spend it": (abc(), [guards(1)], ["b", "c"]),
    "just enough": (abc(), [guards(3)], []),
    "more than enough": (abc(), [guards(9)], []),
    "pods it does not select spend nothing": ([pod("a").labels(app="y"), app("b"), app("c")], [guards(1)], ["c"]),
    "a budget without status allows nothing": (abc(), [budget("pdb").selects(app="x")], ["a", "b", "c"]),
    "pods of another namespace": ([app("a", "other"), app("b")], [guards(0)], ["b"]),
    "the budget of another namespace": (abc(), [guards(0, namespace="other")], []),
    "no selector": (abc(), [budget("pdb").allows(0)], []),
    "an empty selector protects nobody here": (abc(), [budget("pdb").selects("").allows(0)], []),
    "a selector that does not parse": (abc(), [budget("pdb").selects(unparsable()).allows(0)], []),
    "the others still count beside one that does not parse": (
        abc(),
        [budget("bad").selects(unparsable()).allows(0), guards(2)],
        ["c"],
    ),
    "pods without labels are never covered": ([pod("a"), app("b")], [budget("pdb").selects("!tier").allows(0)], ["b"]),
    "a negative selector covers pods with labels": (
        [app("a"), pod("b").labels(tier="db")],
        [budget("pdb").selects("!tier").allows(0)],
        ["a"],
    ),
    "pods already on their way spend nothing": (abc(), [guards(1, disrupted=["a"])], ["c"]),
    "they are known by name, not by namespace": (
        [app("a", "other"), app("b")],
        [guards(0, disrupted=["a"]), guards(0, "pdb", "other", disrupted=["b"])],
        ["other/a", "b"],
    ),
    "terminating pods spend": ([app("a").terminating(), app("b")], [guards(1)], ["b"]),
    "two budgets on one pod, both must allow it": (
        abc(),
        [guards(2, "wide"), budget("narrow").selects("app").allows(1)],
        ["b", "c"],
    ),
    "every matching budget is spent, though the pod breaks another": (
        [app("a").labels(tier="db"), app("b")],
        [budget("db").selects(tier="db").allows(0), guards(1)],
        ["a", "b"],
    ),
}


@pytest.mark.parametrize(("pods", "budgets", "expected"), CASES.values(), ids=CASES.keys())
def test_violating(pods: list[PodBuilder], budgets: list[BudgetBuilder], expected: list[str]) -> None:
    violating, by_budget = protection(pods, budgets)
    assert violating == expected
    assert sorted({name for names in by_budget.values() for name in names}) == sorted(expected)


def test_each_node_starts_from_the_same_budget() -> None:
    """What one node's dry run spends is not missing on the next."""
    pods = [app("a"), app("b"), app("c").node("m"), app("d").node("m")]
    assert sorted(protection(pods, [guards(1)])[0]) == ["b", "d"]


def test_who_breaks_what() -> None:
    """A pod is listed under each budget it breaks, and only there."""
    pods = [app("a").labels(tier="db"), app("b"), pod("c").labels(tier="db")]
    violating, by_budget = protection(pods, [guards(0), budget("db").selects(tier="db").allows(1), guards(9, "idle")])
    assert violating == ["a", "b", "c"]
    assert by_budget == {"default/db": ["c"], "default/pdb": ["a", "b"]}


def test_equal_pods_spend_in_the_order_of_the_node() -> None:
    """Neither priority nor start time decides: who came first spends first."""
    pods = [app(name).cpu("1").priority(5).running("n", since=100) for name in ("second", "first", "third")]
    done = tried(pod("wanting").cpu("4").priority(1000), node("n"), *pods, guards(1))
    potential = done.searched.dry_run.potential
    assert done.pods(potential.pod_rows[potential.protection.violating]) == ["first", "third"]
