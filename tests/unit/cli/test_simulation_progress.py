"""The progress bar of a simulation: what it says on a terminal, and that it keeps silent elsewhere."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr

import pytest

from bayplan.cli.simulation_progress import progress_bar

HOUR_NS = 3_600 * 10**9
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class FakeTerminal(io.StringIO):
    """Somebody is looking."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """All that was ever drawn, oldest first."""
        return [line for line in re.split(r"[\r\n]+", CONTROL.sub("", self.getvalue())) if line.strip()]


class FakeClock:
    """Time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return FakeTerminal()


def test_it_says_how_far_how_fast_and_how_long_still(terminal: FakeTerminal) -> None:
    """An hour of virtual time in each second: after six of 24 hours, 18 seconds remain."""
    clock = FakeClock()
    with redirect_stderr(terminal), progress_bar(clock) as tell:
        assert tell is not None
        for hour in range(1, 7):
            clock.now += 1
            tell(hour * HOUR_NS, 24 * HOUR_NS)
    last = terminal.lines()[-1]
    assert "6 h of 24 h · 3,600x real time" in last
    assert last.rstrip().endswith("0:00:18")


def test_it_leaves_nothing_behind(terminal: FakeTerminal) -> None:
    with redirect_stderr(terminal), progress_bar(FakeClock()) as tell:
        assert tell is not None
        tell(HOUR_NS, HOUR_NS)
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_silent_where_nobody_looks() -> None:
    pipe = io.StringIO()
    with redirect_stderr(pipe), progress_bar(FakeClock()) as tell:
        assert tell is None
    assert pipe.getvalue() == ""
