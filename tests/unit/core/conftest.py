"""Every scheduler that a test of the core builds is looked over when the test is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.checkers import check_always

from bayplan.core.scheduler import Scheduler


@pytest.fixture(autouse=True)
def _schedulers_are_sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test did to it, a scheduler's state must hold together."""
    built: list[Scheduler] = []
    build = Scheduler.__init__

    def noted(self: Scheduler, *args: Any, **options: Any) -> None:
        build(self, *args, **options)
        built.append(self)

    monkeypatch.setattr(Scheduler, "__init__", noted)
    yield
    for scheduler in built:
        check_always(scheduler)
