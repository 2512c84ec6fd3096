"""Pod groups over time as a figure: who has joined, when the quorum was there, placed together, preempted together.

Each group is a row: quiet while too few of its pods exist, striking while enough do and too few have a node, calm once
the quorum has. `courses` has the same as numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import End, GroupRow, PodRow
from bayplan.report.drawing.bands import figure, time_ticks
from bayplan.report.drawing.ticks import short
from bayplan.report.durations import duration_text
from bayplan.report.markup import joined, tag
from bayplan.report.simulation.node_figures import shortened
from bayplan.report.simulation.time_figures import time_span
from bayplan.report.simulation.view import SimulationView
from bayplan.report.words import counted

GROUPS_MAX = 40
_ROW = 30  # pixels
_BAR = 16
_MOMENT = 1.0  # second
_LABEL = "Pod groups over time"


class GroupPhase(StrEnum):
    """How a group stands."""

    JOINING = "too few of its pods exist"
    WAITING = "waits for a node for its quorum"
    PLACED = "its quorum has nodes"


_LOOKS = {GroupPhase.JOINING: "c7", GroupPhase.WAITING: "c1", GroupPhase.PLACED: "c2"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a group stands in one way."""

    phase: GroupPhase
    since: float
    until: float
    joined: int  # pods that exist, the most
    placed: int  # of them those that have a node, the most


@dataclass(frozen=True, slots=True)
class Together:
    """Pods of a group to which the same happened at once, or almost."""

    at: float
    pods: int
    is_preemption: bool  # else they were placed


@dataclass(frozen=True, slots=True)
class GroupCourse:
    """What became of one group."""

    group: GroupRow
    pods: Sequence[PodRow]
    stretches: Sequence[Stretch]
    marks: Sequence[Together]

    @property
    def waited(self) -> float:
        """While enough pods existed and too few had a node."""
        return sum(each.until - each.since for each in self.stretches if each.phase is GroupPhase.WAITING)


def courses(view: SimulationView) -> list[GroupCourse]:
    """Of all groups with pods, those that waited longest first."""
    members: defaultdict[str, list[PodRow]] = defaultdict(list)
    for pod in view.run.pods:
        if pod.group is not None:
            members[pod.group].append(pod)
    found = [_course(view, group, members[group.key]) for group in view.run.groups if members[group.key]]
    return sorted(found, key=lambda each: (-each.waited, each.group.created, each.group.key))


def _course(view: SimulationView, group: GroupRow, pods: Sequence[PodRow]) -> GroupCourse:
    placed = [pod.bound for pod in pods if pod.bound is not None]
    evicted = [view.end_of(pod) for pod in pods if pod.end is End.PREEMPTED]
    marks = [*_together(placed, is_preemption=False), *_together(evicted, is_preemption=True)]
    return GroupCourse(group, pods, _stretches(view, group, pods), sorted(marks, key=lambda mark: mark.at))


def _together(times: Iterable[float], *, is_preemption: bool) -> Iterator[Together]:
    """What happens within a moment happens at once: requests are sent one after another."""
    found: list[float] = []
    for at in sorted(times):
        if found and at - found[0] > _MOMENT:
            yield Together(found[0], len(found), is_preemption)
            found = []
        found.append(at)
    if found:
        yield Together(found[0], len(found), is_preemption)


def _stretches(view: SimulationView, group: GroupRow, pods: Sequence[PodRow]) -> list[Stretch]:
    """Whatever changes at one moment changes at once. While there is no pod there is nothing to say."""
    joining: Counter[float] = Counter()
    placing: Counter[float] = Counter()
    for pod in pods:
        end = view.end_of(pod)
        joining[pod.created] += 1
        joining[end] -= 1
        if pod.bound is not None:
            placing[pod.bound] += 1
            placing[end] -= 1
    times = sorted({*joining, *placing})
    found: list[Stretch] = []
    there = on_nodes = 0
    for at, until in zip(times, [*times[1:], view.seconds], strict=True):
        there, on_nodes = there + joining[at], on_nodes + placing[at]
        if there and until > at:
            _add(found, Stretch(_phase(group, there, on_nodes), at, until, there, on_nodes))
    return found


def _phase(group: GroupRow, there: int, on_nodes: int) -> GroupPhase:
    if there < group.min_count:
        return GroupPhase.JOINING
    return GroupPhase.WAITING if on_nodes < group.min_count else GroupPhase.PLACED


def _add(found: list[Stretch], new: Stretch) -> None:
    """One after another in the same phase are one."""
    last = found[-1] if found else None
    if last is None or last.phase is not new.phase or last.until != new.since:
        found.append(new)
        return
    most = max(last.joined, new.joined), max(last.placed, new.placed)
    found[-1] = Stretch(new.phase, last.since, new.until, *most)


def groups_over_time(view: SimulationView, drawn: Sequence[GroupCourse]) -> Markup:
    """The first ones, each in a row."""
    span, height = time_span(view), _ROW * len(drawn)
    area = tag(
        "svg",
        (_row(view, course, place * _ROW) for place, course in enumerate(drawn)),
        class_="area",
        viewBox=span.viewed(height),
        preserveAspectRatio="none",
        height=height,
        role="group",
        aria_label=_LABEL,
    )
    legend = [tag("span", tag("i", class_=look), phase.value) for phase, look in _LOOKS.items()]
    legend.append(tag("span", tag("i", class_="alarm round"), "preempted together"))
    legend.append(tag("span", tag("i", class_="c0 round"), "placed together"))
    above = tag("div", legend, class_="head")
    return figure(_LABEL, span, [above, _names(drawn, height), area, time_ticks(span)], "nodes")


def _names(drawn: Iterable[GroupCourse], height: int) -> Markup:
    labels = [
        tag("text", tag("title", course.group.key), shortened(course.group.key), x="100%", y=short(place * _ROW + 19))
        for place, course in enumerate(drawn)
    ]
    return tag("svg", labels, class_="axis", height=height, aria_hidden="true")


def _row(view: SimulationView, course: GroupCourse, top: int) -> Markup:
    bars = [_bar(view, course, stretch, top) for stretch in course.stretches]
    marks = [_mark(view, course, mark, top + _ROW / 2) for mark in course.marks]
    return joined(bars, marks)


def _bar(view: SimulationView, course: GroupCourse, stretch: Stretch, top: int) -> Markup:
    quorum = f"minCount {course.group.min_count:,}"
    title = (
        f"{course.group.key}: {stretch.phase.value}, {duration_text(stretch.since)} to {duration_text(stretch.until)}\n"
        f"{counted(stretch.joined, 'pod')} joined, {stretch.placed:,} with a node, {quorum}"
    )
    return tag(
        "rect",
        tag("title", title),
        class_=f"pod {_LOOKS[stretch.phase]}",
        x=short(view.unit.of(stretch.since)),
        y=short(top + (_ROW - _BAR) / 2),
        width=short(view.unit.of(stretch.until - stretch.since)),
        height=short(_BAR),
    )


def _mark(view: SimulationView, course: GroupCourse, mark: Together, y: float) -> Markup:
    what = "preempted" if mark.is_preemption else "placed"
    title = f"{course.group.key}: {counted(mark.pods, 'pod')} {what} at {duration_text(mark.at)}"
    place = f"M{short(view.unit.of(mark.at))},{short(y)}h0"
    look = "mark" if mark.is_preemption else "mark placed"
    return joined(tag("path", class_="ring", d=place), tag("path", tag("title", title), class_=look, d=place))


def group_rows(view: SimulationView, drawn: Iterable[GroupCourse]) -> Iterator[tuple[str, ...]]:
    """Group, pods, quorum, placed at the end, how long it waited, pods preempted, and what it asks for besides."""
    for course in drawn:
        there = [pod for pod in course.pods if view.end_of(pod) >= view.seconds]
        preempted = sum(pod.end is End.PREEMPTED for pod in course.pods)
        last = course.stretches[-1].phase.value if course.stretches else ""
        yield (
            course.group.key,
            f"{len(course.pods):,}",
            f"{course.group.min_count:,}",
            f"{sum(pod.bound is not None for pod in there):,}",
            duration_text(course.waited),
            f"{preempted:,}",
            course.group.within or "–",
            last if there else "gone",
        )
