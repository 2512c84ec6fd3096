"""A log says which rows changed since a position, or that nobody knows."""

from __future__ import annotations

import pytest

from bayplan.core.columns import changes
from bayplan.core.columns.changes import ChangeLog


def since(log: ChangeLog, position: int) -> list[int] | None:
    rows = log.since(position)
    return None if rows is None else rows.tolist()


def test_rows_since_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LOG_LENGTH_MAX", 4)
    log = ChangeLog()
    for row in (5, 6, 7):
        log.append(row)
    assert (log.position, log.last, since(log, 1), since(log, 3)) == (3, 7, [6, 7], [])
    for row in (8, 9):
        log.append(row)
    assert (since(log, 2), since(log, 0)) == ([7, 8, 9], None)


def test_nobody_knows_what_changed_before_a_log_was_broken_off() -> None:
    log = ChangeLog()
    log.append(1)
    log.break_off()
    assert since(log, 1) is None
    position = log.position
    log.append(2)
    assert (since(log, position), since(log, 0)) == ([2], None)
