"""Trials in several processes: the same results, in order."""

from __future__ import annotations

import os

import pytest

from bayplan.analysis.answers.audit.processes import STEPS_MIN, in_processes

ITEMS = list(range(10))
ENOUGH = 2 * STEPS_MIN


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_in_the_order_of_the_items(processes: int) -> None:
    factor = 3
    assert list(in_processes(lambda item: item * factor, ITEMS, processes, ENOUGH)) == [item * 3 for item in ITEMS]


@pytest.mark.parametrize(("items", "steps"), [(ITEMS, ENOUGH - 1), (ITEMS[:1], ENOUGH)])
def test_little_work_stays_in_this_process(items: list[int], steps: int) -> None:
    assert set(in_processes(lambda _: os.getpid(), items, 8, steps)) == {os.getpid()}


def test_much_work_does_not() -> None:
    assert os.getpid() not in set(in_processes(lambda _: os.getpid(), ITEMS, 2, ENOUGH))


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_processes(lambda item: 1 // item, ITEMS, 2, ENOUGH))
