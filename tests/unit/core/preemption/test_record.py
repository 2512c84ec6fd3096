"""The record of a preemption: what was tried, in what order, with what outcome, and what decided."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.preemption_attempts import default_profile, tried

import bayplan
from bayplan.core.filtering import filter_pod
from bayplan.core.preemption.post_filter import run_post_filters
from bayplan.core.preemption.record import preemption_record, short_record
from bayplan.core.preemption.select import HIGHEST_PRIORITY, PRIORITY_SUM, START_TIME, VICTIM_COUNT, VIOLATIONS
from bayplan.testing.builders import budget, node, pod
from bayplan.testing.pods import PodBuilder


def on(name: str, cpu: str, priority: int, where: str = "n", since: int | None = None) -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).running(where, since)


def wanting(cpu: str) -> PodBuilder:
    return pod("wanting").cpu(cpu).priority(1000)


def guarded() -> list[Any]:
    return [
        node("n"),
        on("a", "1", 100, since=1_000_000_000).labels(app="x"),
        on("b", "1", 50).labels(app="x"),
        on("c", "2", 10),
        budget("pdb").selects(app="x").allows(1),
    ]


def test_one_candidate_in_full() -> None:
    """Victims with what they are, then every pod put back on trial, in order."""
    assert tried(wanting("3"), *guarded()).record == {
        "candidates": [
            {
                "node": "n",
                "numPDBViolations": 0,
                "victims": [
                    {"pod": "default/a", "priority": 100, "startTime": "2001-09-09T01:46:40Z", "breaks": []},
                    {"pod": "default/c", "priority": 10, "startTime": None, "breaks": []},
                ],
                "reprieves": [
                    {"pod": "default/b", "priority": 50, "startTime": None, "budgetUsedUp": True, "kept": True},
                    {
                        "pod": "default/a",
                        "priority": 100,
                        "startTime": "2001-09-09T01:46:40Z",
                        "budgetUsedUp": False,
                        "kept": False,
                        "stoppedBy": "NodeResourcesFit",
                        "reasons": ["Insufficient cpu"],
                    },
                    {
                        "pod": "default/c",
                        "priority": 10,
                        "startTime": None,
                        "budgetUsedUp": False,
                        "kept": False,
                        "stoppedBy": "NodeResourcesFit",
                        "reasons": ["Insufficient cpu"],
                    },
                ],
            }
        ],
        "foreignPods": 0,
        "choice": [],
    }


def test_victims_name_the_budgets_they_break() -> None:
    """A victim may break several; one that has its budget breaks none."""
    extra = budget("also").selects("app").allows(0)
    (candidate,) = tried(wanting("4"), *guarded(), extra).record["candidates"]
    assert candidate["numPDBViolations"] == 2
    assert {victim["pod"]: victim["breaks"] for victim in candidate["victims"]} == {
        "default/a": ["default/also"],
        "default/b": ["default/pdb", "default/also"],
        "default/c": [],
    }


def test_each_attempt_names_the_filter_that_stopped_it() -> None:
    pods = [
        on("port", "100m", 40).port(80),
        on("apart", "100m", 30).labels(app="y"),
        on("big", "4", 20),
        on("harmless", "100m", 10),
    ]
    pending = wanting("1").port(80).pod_anti_affinity("kubernetes.io/hostname", "app=y")
    (candidate,) = tried(pending, node("n"), *pods).record["candidates"]
    assert [(one["pod"], one["kept"], one.get("stoppedBy")) for one in candidate["reprieves"]] == [
        ("default/port", False, "NodePorts"),
        ("default/apart", False, "InterPodAffinity"),
        ("default/big", False, "NodeResourcesFit"),
        ("default/harmless", True, None),
    ]


def test_victims_are_the_attempts_that_failed() -> None:
    for cpu in ("1", "2", "3", "4"):
        for candidate in tried(wanting(cpu), *guarded()).record["candidates"]:
            failed = {one["pod"] for one in candidate["reprieves"] if not one["kept"]}
            assert failed == {victim["pod"] for victim in candidate["victims"]}


def test_the_choice_criterion_by_criterion() -> None:
    """What was compared, and who was left after it."""
    things: list[Any] = [
        *(node(name) for name in "abcd"),
        on("a1", "4", 50, "a").labels(app="x"),
        on("b1", "4", 60, "b"),
        on("c1", "2", 50, "c", since=1_000_000_000),
        on("d1", "2", 50, "d"),
        budget("pdb").selects(app="x").allows(0),
    ]
    done = tried(wanting("3"), *things)
    offset = 1 << 31
    assert done.record["choice"] == [
        {"criterion": VIOLATIONS, "values": {"a": 1, "b": 0, "c": 0, "d": 0}, "kept": ["b", "c", "d"]},
        {"criterion": HIGHEST_PRIORITY, "values": {"b": 60, "c": 50, "d": 50}, "kept": ["c", "d"]},
        {"criterion": PRIORITY_SUM, "values": {"c": 50 + offset, "d": 50 + offset}, "kept": ["c", "d"]},
        {"criterion": VICTIM_COUNT, "values": {"c": 1, "d": 1}, "kept": ["c", "d"]},
        {"criterion": START_TIME, "values": {"c": "2001-09-09T01:46:40Z", "d": None}, "kept": ["d"]},
    ]
    assert done.selected == ["d"]


def test_nodes_without_success_are_no_candidates() -> None:
    """They appear with their reasons beside the record, not in it."""
    done = tried(wanting("2"), node("n"), node("m"), on("v", "3", 10), on("stays", "3", 1000, "m"))
    assert [candidate["node"] for candidate in done.record["candidates"]] == ["n"]
    assert set(done.statuses) == {"m"}


def test_an_empty_search_has_an_empty_record() -> None:
    done = tried(wanting("2"), node("n").taint("gpu"))
    assert done.record == {"candidates": [], "foreignPods": 0, "choice": []}


def test_no_record_without_a_search() -> None:
    done = tried(wanting("2").never_preempts(), node("n"), on("v", "3", 10))
    assert preemption_record(done.result.found, done.view, done.filtered) is None


def test_asking_again_gives_the_same() -> None:
    """The record is made from what was kept, not from another try."""
    done = tried(wanting("3"), *guarded())
    first = done.record
    filtered = filter_pod(default_profile(), done.pod, done.view)
    second = run_post_filters(default_profile(), done.pod, done.view, filtered)
    assert done.record == first == preemption_record(second.found, done.view, filtered)


def test_explain_carries_the_record() -> None:
    things = [*guarded(), wanting("3")]
    answer = bayplan.Cluster.from_objects([thing.dict() for thing in things]).explain("default/wanting").to_dict()
    record = answer["preemption"]["record"]
    assert [candidate["node"] for candidate in record["candidates"]] == ["n"]
    assert answer["preemption"]["candidates"]["n"]["victims"] == [
        one["pod"] for one in record["candidates"][0]["victims"]
    ]


def crowded(count: int) -> list[Any]:
    """Nodes of which some cost one victim, some two, and each other one more priority."""
    made: list[Any] = []
    for number in range(count):
        where = f"n{number}"
        made += [node(where).capacity(cpu=4, pods=10), on(f"a{number}", "2", 10 * (number % 3), where)]
        made += [on(f"b{number}", "1", number % 2, where), on(f"c{number}", "1", 5, where, since=10 + number % 4)]
    return made


@pytest.mark.parametrize(("most", "nodes"), [(1, 9), (3, 9), (12, 9), (12, 1)])
def test_the_short_record_is_the_long_one_cut(most: int, nodes: int) -> None:
    """The chosen node in full, then those that lasted longest, and nothing of the others."""
    done = tried(wanting("3"), *crowded(nodes))
    long, found = done.record, done.searched
    chosen_row = int(found.tied_rows[0])
    short = short_record(found, done.view, done.filtered, chosen_row, most)
    assert short is not None
    by_node = {one["node"]: one for one in long["candidates"]}
    lasted = {name: sum(name in step["values"] for step in long["choice"]) for name in by_node}
    chosen = done.view.nodes.names[chosen_row]
    kept = sorted(by_node, key=lambda name: (name != chosen, -lasted[name], name))[:most]
    assert short["candidates"] == [
        by_node[name] if name == chosen else by_node[name] | {"reprieves": []} for name in kept
    ]
    assert short["candidatesLeftOut"] == nodes - len(kept)
    assert short["choice"] == [
        step
        | {"values": {name: value for name, value in step["values"].items() if name in kept}}
        | {"kept": [name for name in step["kept"] if name in kept]}
        for step in long["choice"]
    ]
