"""How far a sweep is, in a log."""

from __future__ import annotations

import pytest

from bayplan.cli.sweep_progress import LINE_EVERY, sweep_progress


def test_a_line_now_and_then_with_the_time_that_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    with sweep_progress(lambda: now) as tell:
        for done in range(41, 101):  # 40 were done before
            now += LINE_EVERY / 4
            tell(done, 100, done // 50)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "sweep: 44 of 100 runs, 2 min 20 s left"
    assert lines[2] == "sweep: 52 of 100 runs, 1 failed, 2 min left"
    assert lines[-1] == "sweep: 100 of 100 runs, 2 failed in 2 min 30 s"
    assert len(lines) == 15
