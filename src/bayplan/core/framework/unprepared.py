"""Plugins whose preparing step a profile leaves out.

Upstream's plugins then find no state of theirs. Some work it out on the spot: filters that have `unprepared` (see
`contract`), and score plugins with `prepares_scores_itself`. Some never look at it (`scores_unprepared`). The others
end the attempt with an error on the first node they are asked about, in the words of their `without_pre_filter` and
`without_pre_score`. Takes the plugins of a profile; gives them with a stand-in for each that cannot work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    State,
    UnpreparedPlugin,
)
from bayplan.core.framework.verdict import CycleError, Status
from bayplan.core.snapshot import View

_NOT_PREPARED = "the profile leaves out the step that prepares it"


class UnpreparedFilter:
    """Stands in for a filter plugin that has no state."""

    def __init__(self, plugin: FilterPlugin) -> None:
        self.name, self.reads = plugin.name, plugin.reads
        self._says: str = getattr(plugin, "without_pre_filter", _NOT_PREPARED)

    def filter(self, state: State, view: View, rows: Rows) -> IntArray:  # noqa: ARG002
        raise CycleError(self.name, self._says)

    def explain_failure(self, state: State, view: View, code: int) -> Status:  # noqa: ARG002
        raise AssertionError("no node fails, as none is judged")


class UnpreparedScore:
    """A score plugin that was not prepared for the pod."""

    def __init__(self, plugin: ScorePlugin) -> None:
        self.name, self.score_reads = plugin.name, plugin.score_reads
        self._says: str = getattr(plugin, "without_pre_score", _NOT_PREPARED)

    def score(self, state: State, view: View, rows: RowArray) -> IntArray:  # noqa: ARG002
        raise CycleError(self.name, self._says)


def filters_as_prepared(filters: Iterable[FilterPlugin], pre_filters: Iterable[Any]) -> tuple[Any, ...]:
    """The filter plugins, with stand-ins for those that cannot do without their PreFilter."""
    prepared = {plugin.name for plugin in pre_filters}

    def lacks_its_state(plugin: Any) -> bool:
        return isinstance(plugin, PreFilterPlugin) and not isinstance(plugin, UnpreparedPlugin)

    return tuple(
        UnpreparedFilter(plugin) if plugin.name not in prepared and lacks_its_state(plugin) else plugin
        for plugin in filters
    )


def scorers_as_prepared(scorers: Iterable[ScorePlugin], pre_scorers: Iterable[Any]) -> tuple[Any, ...]:
    """The score plugins, with stand-ins for those that cannot do without their PreScore."""
    prepared = {plugin.name for plugin in pre_scorers}

    def is_to_be_prepared(plugin: Any) -> bool:
        return isinstance(plugin, PreScorePlugin) and not getattr(plugin, "scores_unprepared", False)

    return tuple(
        UnpreparedScore(plugin) if plugin.name not in prepared and is_to_be_prepared(plugin) else plugin
        for plugin in scorers
    )


def pre_scorers_in_effect(pre_scorers: Iterable[Any], scorers: Iterable[Any]) -> tuple[Any, ...]:
    """The PreScore plugins, and those whose Score makes up for what the profile leaves out."""
    given = tuple(pre_scorers)
    names = {plugin.name for plugin in given}
    left_out = (plugin for plugin in scorers if plugin.name not in names)
    return given + tuple(plugin for plugin in left_out if getattr(plugin, "prepares_scores_itself", False))
