"""Feasible nodes -> weighted totals.

Each plugin scores all feasible nodes at once; the framework normalises, weighs and adds up. A plugin whose PreScore
skips contributes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import MAX_NODE_SCORE, SKIP, NormalizePlugin, ScorePlugin, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View


@dataclass(slots=True)
class Scored:
    """Scores of the feasible nodes."""

    rows: RowArray
    by_plugin: dict[str, IntArray]  # weighted, in the profile's order
    totals: IntArray  # (rows,)

    def best_rows(self) -> RowArray:
        """All rows with the highest total."""
        if not len(self.rows):
            return self.rows
        best: RowArray = self.rows[self.totals == self.totals.max()]
        return best


def score_nodes(profile: Profile, pod: PodInfo, view: View, feasible_rows: RowArray) -> Scored:
    scored = Scored(feasible_rows, {}, np.zeros(len(feasible_rows), dtype=np.int64))
    if not len(feasible_rows):
        return scored
    states: dict[str, State] = {p.name: p.pre_score(pod, view, feasible_rows) for p in profile.pre_score}
    for plugin in profile.score:
        state = states.get(plugin.name, pod)
        if state is not SKIP:
            normalizer = profile.normalizers.get(plugin.name)
            weighted = final_scores(plugin, normalizer, state, view, feasible_rows) * profile.weights[plugin.name]
            scored.by_plugin[plugin.name] = weighted
            scored.totals += weighted
    return scored


def final_scores(
    plugin: ScorePlugin, normalizer: NormalizePlugin | None, state: State, view: View, rows: RowArray
) -> IntArray:
    scores = plugin.score(state, view, rows)
    if normalizer is not None:
        scores = normalizer.normalize(state, scores, rows)
    check_range(plugin.name, scores)
    return scores


def has_invalid(scores: IntArray) -> bool:
    """Whether any score is not within 0..100."""
    # Read without their sign, negative scores are huge.
    return bool(np.count_nonzero(scores.view(np.uint64) > MAX_NODE_SCORE))


def check_range(plugin_name: str, scores: IntArray) -> None:
    """Raises CycleError when a final score is not within 0..100."""
    if has_invalid(scores):
        worst = int(np.flatnonzero((scores < 0) | (scores > MAX_NODE_SCORE))[0])
        raise CycleError(
            plugin_name,
            f"plugin {plugin_name} returns an invalid score {scores[worst]}, "
            f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
        )
