"""Trials in several processes: the same results, in order."""

from __future__ import annotations

import os

import pytest

from bayplan.analysis.answers.audit.processes import TRIALS_MIN, in_processes

ITEMS = list(range(2 * TRIALS_MIN))


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_in_the_order_of_the_items(processes: int) -> None:
    factor = 3
    assert list(in_processes(lambda item: item * factor, ITEMS, processes)) == [item * 3 for item in ITEMS]


def test_a_few_trials_stay_in_this_process() -> None:
    assert set(in_processes(lambda _: os.getpid(), ITEMS[: 2 * TRIALS_MIN - 1], 8)) == {os.getpid()}


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_processes(lambda item: 1 // item, ITEMS, 2))
