"""Pod groups over time: when they joined, waited, were placed and preempted, as numbers and as a drawing."""

from __future__ import annotations

from typing import Any

from tests.unit.report.simulation.test_page import pod, result

from bayplan.analysis.simulation.results.run_format import End, GroupRow, PodRow, Run
from bayplan.report.simulation.group_figures import (
    GroupCourse,
    GroupPhase,
    courses,
    group_rows,
    groups_over_time,
)
from bayplan.report.simulation.page import run_page
from bayplan.report.simulation.view import SimulationView

SECONDS = 100.0
GANG = GroupRow("prod/g", 0.0, 2, 5, "rack", goes_whole=True)


def member(name: str, created: float, bound: float | None = None, group: str = "prod/g", **changed: Any) -> PodRow:
    end = End.PENDING if bound is None else End.RUNNING
    return pod(f"prod/{name}", **{"group": group, "created": created, "bound": bound, "end": end, **changed})


def view_of(*pods: PodRow, groups: tuple[GroupRow, ...] = (GANG,)) -> SimulationView:
    return SimulationView(run_of(*pods, groups=groups))


def run_of(*pods: PodRow, groups: tuple[GroupRow, ...] = (GANG,)) -> Run:
    return result(pods=list(pods), groups=list(groups))


def phases(course: GroupCourse) -> list[tuple[str, float, float]]:
    return [(each.phase.name, each.since, each.until) for each in course.stretches]


def test_a_group_joins_waits_and_is_placed() -> None:
    (course,) = courses(view_of(member("a", 10, 50), member("b", 30, 50.005)))
    assert phases(course) == [("JOINING", 10, 30), ("WAITING", 30, 50.005), ("PLACED", 50.005, SECONDS)]
    assert [(mark.at, mark.pods, mark.is_preemption) for mark in course.marks] == [(50, 2, False)]
    assert round(course.waited, 3) == 20.005


def test_a_preempted_group_is_gone_until_its_pods_are_made_again() -> None:
    old = [member(name, 0, 1, ended=40.0, end=End.PREEMPTED) for name in ("a", "b")]
    (course,) = courses(view_of(*old, member("c", 60), member("d", 60)))
    assert phases(course) == [("WAITING", 0, 1), ("PLACED", 1, 40), ("WAITING", 60, SECONDS)]
    assert [(mark.at, mark.pods, mark.is_preemption) for mark in course.marks] == [(1, 2, False), (40, 2, True)]


def test_what_happens_apart_is_not_together() -> None:
    (course,) = courses(view_of(member("a", 0, 5), member("b", 0, 5.9), member("c", 0, 7)))
    assert [(mark.at, mark.pods) for mark in course.marks] == [(5, 2), (7, 1)]


def test_those_that_waited_longest_come_first_and_those_without_pods_not_at_all() -> None:
    other, empty = GroupRow("prod/h", 0.0, 1, 0, None, goes_whole=False), GroupRow("prod/i", 0.0, 1, 0, None, False)
    view = view_of(member("a", 0, 1), member("b", 0, 1), member("c", 0, group="prod/h"), groups=(GANG, other, empty))
    assert [each.group.key for each in courses(view)] == ["prod/h", "prod/g"]
    assert list(group_rows(view, courses(view))) == [
        ("prod/h", "1", "1", "0", "1 min 40 s", "0", "–", GroupPhase.WAITING.value),
        ("prod/g", "2", "2", "2", "1 s", "0", "rack", GroupPhase.PLACED.value),
    ]


def test_the_drawing_says_what_each_bar_and_each_dot_is() -> None:
    view = view_of(member("a", 10, 50), member("b", 30, 50))
    drawn = str(groups_over_time(view, courses(view)))
    assert "prod/g: too few of its pods exist, 10 s to 30 s" in drawn
    assert "2 pods joined, 2 with a node, minCount 2" in drawn
    assert "prod/g: 2 pods placed at 50 s" in drawn


def test_the_page_has_a_section_for_groups_only_where_there_are_groups() -> None:
    assert "<h2>Pod groups</h2>" in run_page(run_of(member("a", 0, 1)))
    assert "<h2>Pod groups</h2>" not in run_page(run_of(groups=()))
