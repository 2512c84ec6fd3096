"""A stopwatch adds up what each plugin took in an attempt. Its clock goes on by one with each look at it."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from bayplan.core.events import Event
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.serving.metrics.stopwatch import POST_FILTER, TIMED_PER_SECOND, Stopwatch, TimedStep

SECOND = 10**9


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Code, int]] = []

    def called(self, step: TimedStep, status: Code, took_ns: int) -> None:
        self.calls.append((step.plugin, status, took_ns))

    def hinted(self, plugin: str, cluster_event: str, *, helps: bool, took_ns: int) -> None: ...

    def handled(self, event: Event, took_ns: int) -> None: ...

    def looked_up(self, profile: str, *, reused: bool, reusable: bool, took_ns: int) -> None: ...


def stopwatch() -> Stopwatch:
    return Stopwatch(count().__next__, Notes())


def says(code: Code) -> Any:
    return lambda _answer, _arguments: code


def test_calls_of_one_attempt_are_added_up() -> None:
    watch = stopwatch()
    step = watch.step("default", "Fit", "Filter")
    watch.start(0)
    for _ in range(3):
        watch.measure(step, says(Code.SUCCESS), lambda: None)
    assert watch.finish() == [step]
    assert (step.took_ns, step.alone_ns, step.calls) == (3, 3, 3)


def test_the_next_attempt_starts_from_nothing() -> None:
    watch = stopwatch()
    step = watch.step("default", "Fit", "Filter")
    watch.start(0)
    watch.measure(step, says(Code.SUCCESS), lambda: None)
    watch.start(1)
    assert watch.finish() == []
    assert (step.took_ns, step.status) == (0, None)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((Code.UNRESOLVABLE, Code.UNSCHEDULABLE), Code.UNSCHEDULABLE),
        ((Code.SUCCESS, Code.UNSCHEDULABLE), Code.SUCCESS),
        ((Code.UNSCHEDULABLE, Code.SUCCESS), Code.SUCCESS),
        ((Code.SKIP, Code.SUCCESS), Code.SUCCESS),
        ((Code.SUCCESS, Code.ERROR), Code.ERROR),
    ],
)
def test_the_best_answer_for_any_node_is_the_status_unless_there_is_an_error(
    statuses: tuple[Code, ...], status: Code
) -> None:
    watch = stopwatch()
    step = watch.step("default", "Fit", "Filter")
    watch.start(0)
    for each in statuses:
        watch.measure(step, says(each), lambda: None)
    assert step.status is status


def test_a_plugin_that_skips_is_not_counted() -> None:
    watch = stopwatch()
    step = watch.step("default", "Ports", "PreFilter")
    watch.start(0)
    watch.measure(step, says(Code.SKIP), lambda: None)
    assert (step.took_ns, step.calls) == (1, 0)


def test_an_error_is_noted_and_raised() -> None:
    watch = stopwatch()
    step = watch.step("default", "Fit", "Filter")
    watch.start(0)

    def fails() -> None:
        raise CycleError("Fit", "no")

    with pytest.raises(CycleError):
        watch.measure(step, says(Code.SUCCESS), fails)
    assert (step.status, step.took_ns) == (Code.ERROR, 1)


def test_filters_that_post_filter_runs_count_as_the_plugin_s_time_but_not_as_filter_s() -> None:
    watch = stopwatch()
    post_filter, filters = watch.step("default", "Preemption", POST_FILTER), watch.step("default", "Fit", "Filter")
    watch.start(0)
    watch.measure_post_filter(
        post_filter, says(Code.SUCCESS), lambda: watch.measure(filters, says(Code.SUCCESS), lambda: None)
    )
    watch.measure(filters, says(Code.SUCCESS), lambda: None)
    assert (post_filter.took_ns, post_filter.alone_ns) == (3, 3)
    assert (filters.took_ns, filters.alone_ns) == (2, 1)


def test_so_many_attempts_are_timed_in_a_second() -> None:
    watch = stopwatch()
    timed = []
    for now in (*range(TIMED_PER_SECOND + 2), SECOND - 1, SECOND):
        watch.start(now)
        timed.append(watch.finish() is not None)
    assert timed == [True] * TIMED_PER_SECOND + [False, False, False, True]


def test_a_call_outside_attempts_is_reported_at_once() -> None:
    notes = Notes()
    watch = Stopwatch(count().__next__, notes)
    step = watch.step("default", "Gates", "PreEnqueue")
    assert watch.measure_at_once(step, says(Code.SUCCESS), lambda pod: pod, "p") == "p"
    assert notes.calls == [("Gates", Code.SUCCESS, 1)]
