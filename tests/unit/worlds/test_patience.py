"""How long a process goes on though attempts end in unexpected exceptions."""

from __future__ import annotations

import pytest

from bayplan.model.time_units import SECOND
from bayplan.worlds.patience import DIFFERENT_MAX, LASTING_NS, NothingWorksError, Patience

ERROR = ValueError("broken")


def fail(patience: Patience, names: list[str], start: int, step: int = 0) -> None:
    for position, name in enumerate(names):
        patience.failed(name, ERROR, start + position * step)


def different(count: int) -> list[str]:
    return [f"pod-{number}" for number in range(count)]


def test_it_ends_when_many_different_ones_have_failed_for_a_while() -> None:
    patience = Patience()
    fail(patience, different(DIFFERENT_MAX), 0)
    patience.failed("pod-0", ERROR, LASTING_NS - 1)
    with pytest.raises(NothingWorksError, match=r"nothing has worked for 60 s.*ValueError: broken"):
        patience.failed("pod-0", ERROR, LASTING_NS)


def test_one_that_always_fails_is_no_reason() -> None:
    fail(Patience(), ["pod"] * 1000, 0, step=10 * SECOND)


def test_few_that_always_fail_are_no_reason() -> None:
    fail(Patience(), different(DIFFERENT_MAX - 1) * 100, 0, step=SECOND)


def test_a_success_in_between_begins_anew() -> None:
    patience = Patience()
    fail(patience, different(DIFFERENT_MAX), 0)
    patience.succeeded()
    patience.failed("pod-0", ERROR, LASTING_NS)
    fail(patience, different(DIFFERENT_MAX), LASTING_NS)
