"""What the local plugins that follow usage say of one node: who rejects it, or else how it scores.

After most decisions a single node has changed, and often many nodes are in the same state: as large as each other, with
as much taken. Where all plugins see nothing of a node but amounts, an answer is remembered by these, and given for the
next node in that state without asking. Does not know which rows have changed, nor what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayplan.core.filtering import PASSED
from bayplan.core.framework.contract import FilterPlugin, State
from bayplan.core.framework.profile import OneRow, Profile
from bayplan.core.ground import Plain, weighted_one
from bayplan.core.snapshot import View

#: So many answers are remembered. Where nodes are in more states than that, hardly any comes again before it changes.
ANSWERS_MAX = 64


class Moving(NamedTuple):
    """A local filter that follows usage and has something to do for the pods in question."""

    position: int  # among the filters of the profile
    plugin: FilterPlugin
    filter_one: OneRow
    state: State


class Answer(NamedTuple):
    """What they say of a node."""

    rejected_by: int  # position of the filter, or PASSED
    code: int  # of that filter
    total: int  # of the weighted scores; 0 where the node is rejected


class OneRowAnswers:
    """Answers for single rows, to pods that look alike to local plugins."""

    __slots__ = ("_by_amounts", "_following", "_moving")

    def __init__(self, profile: Profile, moving: Sequence[Moving], following: Sequence[Plain]) -> None:
        self._moving = moving
        self._following = following
        self._by_amounts: dict[tuple[int, ...], Answer] | None = {} if self._see_amounts_alone(profile) else None

    def _see_amounts_alone(self, profile: Profile) -> bool:
        asked = profile.amounts_plugins
        states = [(it.plugin.name, it.state) for it in self._moving]
        states += [(it.plugin.name, it.state) for it in self._following]
        return all(name in asked and asked[name](state) for name, state in states)

    def about(self, view: View, row: int) -> Answer:
        by_amounts = self._by_amounts
        if by_amounts is None:
            return self._ask(view, row)
        amounts = amounts_on(view, row)
        answer = by_amounts.get(amounts)
        if answer is None:
            if len(by_amounts) == ANSWERS_MAX:
                by_amounts.clear()
            answer = by_amounts[amounts] = self._ask(view, row)
        return answer

    def _ask(self, view: View, row: int) -> Answer:
        for position, _, filter_one, state in self._moving:
            code = filter_one(state, view, row)
            if code:
                return Answer(position, code, 0)
        total = 0
        for entry in self._following:
            total += weighted_one(entry, view, row)
        return Answer(PASSED, 0, total)


def amounts_on(view: View, row: int) -> tuple[int, ...]:
    """Equal for nodes that offer the same amounts, and where the same is taken."""
    usage = view.usage
    return (
        view.nodes.size_ids.item(row),
        usage.pod_counts.item(row),
        *usage.requested[row].tolist(),
        *usage.nonzero_requested[row].tolist(),
    )
