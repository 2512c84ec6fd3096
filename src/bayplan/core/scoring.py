"""Feasible nodes -> weighted totals.

Each plugin scores all feasible nodes at once; the framework normalizes, weighs and adds up. A plugin whose PreScore
skips contributes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    SKIP,
    NormalizePlugin,
    PreScorePlugin,
    ScorePlugin,
    State,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View


@dataclass(slots=True)
class Scored:
    """Scores of the feasible nodes."""

    rows: RowArray
    by_plugin: dict[str, IntArray] = field(default_factory=dict)  # weighted, in the profile's order
    totals: IntArray | None = None  # (rows,); None for a lone node that the scorers could not judge

    def best_rows(self) -> RowArray:
        """All rows with the highest total."""
        if not len(self.rows) or self.totals is None:
            return self.rows
        best: RowArray = self.rows[self.totals == self.totals.max()]
        return best


def score_nodes(profile: Profile, pod: PodInfo, view: View, feasible_rows: RowArray) -> Scored:
    """Raises CycleError."""
    totals: IntArray = np.zeros(len(feasible_rows), dtype=np.int64)
    scored = Scored(feasible_rows, totals=totals)
    if not len(feasible_rows):
        return scored
    states = {plugin.name: _prepared(plugin, pod, view, feasible_rows) for plugin in profile.pre_score}
    for plugin in profile.score:
        state = states.get(plugin.name, pod)
        if state is not SKIP:
            normalizer = profile.normalizers.get(plugin.name)
            weighted = final_scores(plugin, normalizer, state, view, feasible_rows) * profile.weights[plugin.name]
            scored.by_plugin[plugin.name] = weighted
            totals += weighted
    return scored


def _prepared(plugin: PreScorePlugin, pod: PodInfo, view: View, rows: RowArray) -> State:
    try:
        return plugin.pre_score(pod, view, rows)
    except CycleError as error:
        raise error.at(f'running PreScore plugin "{plugin.name}"') from error


def final_scores(
    plugin: ScorePlugin, normalizer: NormalizePlugin | None, state: State, view: View, rows: RowArray
) -> IntArray:
    try:
        scores = plugin.score(state, view, rows)
    except CycleError as error:
        raise error.at(f'running Score plugins: plugin "{plugin.name}" failed with') from error
    if normalizer is not None:
        scores = normalizer.normalize(state, scores, rows)
    check_range(plugin.name, scores)
    return scores


def has_invalid(scores: IntArray) -> bool:
    """Whether any score is not within 0..100."""
    # Read without their sign, negative scores are huge.
    unsigned = scores.view(np.uint64)
    return len(scores) > 0 and unsigned.item(unsigned.argmax()) > MAX_NODE_SCORE


def check_range(plugin_name: str, scores: IntArray) -> None:
    """Raises CycleError when a final score is not within 0..100."""
    if has_invalid(scores):
        worst = int(np.flatnonzero((scores < 0) | (scores > MAX_NODE_SCORE))[0])
        raise CycleError(
            plugin_name,
            "applying score defaultWeights on Score plugins: "
            f'plugin "{plugin_name}" returns an invalid score {scores[worst]}, '
            f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
        )


def first_by_name(rows: RowArray, view: View) -> int:
    """Nodes that no score or criterion tells apart are taken by their names."""
    return int(rows[np.argmin(view.nodes.name_ranks()[rows])])
