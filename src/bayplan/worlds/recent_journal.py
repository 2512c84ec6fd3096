"""The last thousand events and decisions, kept in memory until somebody needs them as a journal.

Takes what goes into a guarded scheduler and what comes out; `write` makes a journal of it that begins with all objects
as they were known then. Alone it knows nothing of backoffs, nominations and bindings that were under way at that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

from bayplan.core.decision import Decision
from bayplan.core.events import Event
from bayplan.model.kinds import Object
from bayplan.worlds.journal import JournalWriter
from bayplan.worlds.ledger import Place
from bayplan.worlds.live_journal import in_order

#: A journal has between one and two times as many lines, and the objects that were known before.
LINES = 1000


class _Line(NamedTuple):
    now: int
    content: Event | Decision | dict[str, Any]  # the last is an extender's answer


@dataclass(slots=True)
class _Stretch:
    """Some lines, and all objects before the first of them."""

    known: Mapping[Place, Object]
    lines: list[_Line] = field(default_factory=list)


class RecentJournal:
    """What happened lately."""

    def __init__(self, head: Mapping[str, Any], known: Mapping[Place, Object]) -> None:
        """`known` is kept up to date by somebody else, who hears of each event after this journal."""
        self._head = dict(head)
        self._known = known
        self._stretches = [_Stretch(dict(known))]

    def event(self, event: Event, now: int) -> None:
        self._add(_Line(now, event))

    def decision(self, decision: Decision, now: int) -> None:
        self._add(_Line(now, decision))

    def extender_answer(self, answer: dict[str, Any], now: int) -> None:
        self._add(_Line(now, answer))

    def _add(self, line: _Line) -> None:
        if len(self._stretches[-1].lines) >= LINES:
            self._stretches = [self._stretches[-1], _Stretch(dict(self._known))]
        self._stretches[-1].lines.append(line)

    def copy(self) -> RecentJournal:
        """As it is now, for somebody who takes his time to write it."""
        copied = RecentJournal(self._head, {})
        copied._stretches = [_Stretch(each.known, [*each.lines]) for each in self._stretches]
        return copied

    def write(self, out: TextIO) -> None:
        writer = JournalWriter(out, self._head)
        lines = [line for each in self._stretches for line in each.lines]
        for obj in in_order(self._stretches[0].known.values()):
            writer.known(obj, lines[0].now if lines else 0)
        for line in lines:
            if isinstance(line.content, Decision):
                writer.decision(line.content, line.now)
            elif isinstance(line.content, dict):
                writer.extender_answer(line.content, line.now)
            else:
                writer.event(line.content, line.now)
