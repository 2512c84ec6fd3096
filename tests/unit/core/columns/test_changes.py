"""A log says which rows changed since a position, or that nobody knows."""

from __future__ import annotations

import random

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


@pytest.mark.parametrize("seed", range(20))
def test_readers_see_what_was_undone_only_if_they_have_to(seed: int) -> None:
    """Readers copy the rows of a table that changes, and is put back; some read in between, some do not."""
    drawn = random.Random(seed)
    log, table, marks = ChangeLog(), [0] * 5, []
    readers = [(0, list(table)) for _ in range(4)]
    for number in range(300):
        what = drawn.random()
        if what < 0.4:
            row = drawn.randrange(5)
            table[row] = number
            log.append(row)
        elif what < 0.5:
            marks.append((log.position, list(table)))
        elif what < 0.6 and marks:
            position, table = marks.pop()
            log.take_back(position)
        else:
            which = drawn.randrange(4)
            position, copy = readers[which]
            for row in since(log, position) or ():
                copy[row] = table[row]
            assert copy == table
            readers[which] = (log.position, copy)


def test_a_reader_who_was_away_has_nothing_to_look_at() -> None:
    log = ChangeLog()
    log.append(1)
    start = log.position
    for row in (2, 3, 4):
        log.append(row)
    halfway = log.position
    log.append(5)
    log.take_back(start)
    end = log.position
    log.append(6)
    assert (since(log, start), since(log, halfway), since(log, end)) == ([6], [2, 3, 4, 6], [6])


def test_nobody_knows_what_changed_before_a_log_was_broken_off() -> None:
    log = ChangeLog()
    log.append(1)
    log.break_off()
    assert since(log, 1) is None
    position = log.position
    log.append(2)
    assert (since(log, position), since(log, 0)) == ([2], None)
