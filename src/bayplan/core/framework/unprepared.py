"""Plugins whose preparing step a profile leaves out.

Upstream's plugins then find no state of theirs. Some work it out on the spot (those have `unprepared`, see `contract`,
or are prepared all the same); the others end the attempt with an error, on the first node they are asked about. Takes
the plugins of a profile; gives the same plugins, with a stand-in for each that cannot work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    Reads,
    ScorePlugin,
    State,
    UnpreparedPlugin,
)
from bayplan.core.framework.verdict import CycleError, Status
from bayplan.core.snapshot import View

#: What upstream's plugins say when they find no state; a plugin from outside says what stands in `_NOT_PREPARED`.
FILTER_WORDS = {
    "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
    "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "VolumeBinding": "not found",
    "DynamicResources": "not found",
    "NodeDeclaredFeatures": 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
}
SCORE_WORDS = {
    "InterPodAffinity": 'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
    "PodTopologySpread": 'error reading "PreScorePodTopologySpread" from cycleState: not found',
    "TaintToleration": 'failed to read "PreScoreTaintToleration" from cycleState: not found',
}
#: Score plugins that work out what PreScore would have left, and those that never look at it.
PREPARED_ALL_THE_SAME = frozenset({"NodeResourcesFit", "NodeResourcesBalancedAllocation"})
WITHOUT_NEED = frozenset({"NodeAffinity", "VolumeBinding", "DynamicResources"})

_NOT_PREPARED = "the profile leaves out the step that prepares it"


class UnpreparedFilter:
    """Stands in for a filter plugin that has no state."""

    def __init__(self, name: str, reads: Reads) -> None:
        self.name, self.reads = name, reads

    def filter(self, state: State, view: View, rows: Rows) -> IntArray:  # noqa: ARG002
        raise CycleError(self.name, FILTER_WORDS.get(self.name, _NOT_PREPARED))

    def explain_failure(self, state: State, view: View, code: int) -> Status:  # noqa: ARG002
        raise AssertionError("no node fails, as none is judged")


class UnpreparedScore:
    """A score plugin that was not prepared for the pod."""

    def __init__(self, name: str, score_reads: Reads) -> None:
        self.name, self.score_reads = name, score_reads

    def score(self, state: State, view: View, rows: RowArray) -> IntArray:  # noqa: ARG002
        raise CycleError(self.name, SCORE_WORDS.get(self.name, _NOT_PREPARED))


def filters_as_prepared(filters: Iterable[FilterPlugin], pre_filters: Iterable[Any]) -> tuple[Any, ...]:
    """The filter plugins, with stand-ins for those that cannot do without their PreFilter."""
    prepared = {plugin.name for plugin in pre_filters}

    def lacks_its_state(plugin: Any) -> bool:
        return isinstance(plugin, PreFilterPlugin) and not isinstance(plugin, UnpreparedPlugin)

    return tuple(
        UnpreparedFilter(plugin.name, plugin.reads)
        if plugin.name not in prepared and lacks_its_state(plugin)
        else plugin
        for plugin in filters
    )


def scorers_as_prepared(scorers: Iterable[ScorePlugin], pre_scorers: Iterable[Any]) -> tuple[Any, ...]:
    """The score plugins, with stand-ins for those that cannot do without their PreScore."""
    prepared = {plugin.name for plugin in pre_scorers} | WITHOUT_NEED

    def is_to_be_prepared(plugin: Any) -> bool:
        return isinstance(plugin, PreScorePlugin)

    return tuple(
        UnpreparedScore(plugin.name, plugin.score_reads)
        if plugin.name not in prepared and is_to_be_prepared(plugin)
        else plugin
        for plugin in scorers
    )


def pre_scorers_in_effect(pre_scorers: Iterable[Any], scorers: Iterable[Any]) -> tuple[Any, ...]:
    """The PreScore plugins, and those whose Score makes good for what the profile leaves out."""
    given = tuple(pre_scorers)
    names = {plugin.name for plugin in given}
    return given + tuple(p for p in scorers if p.name in PREPARED_ALL_THE_SAME and p.name not in names)
