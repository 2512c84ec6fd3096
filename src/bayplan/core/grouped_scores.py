"""Scores of plugins that read the cluster but give the same to whole groups of nodes (`group_nodes`).

For identical pods that come one after another. Keeps the groups of one shape of pods, and asks for new ones when they
cannot follow what has happened; a plugin that has none is not asked again until node objects or others change.
"""

from __future__ import annotations

from bayplan.core.appraisal import RANKS
from bayplan.core.columns import IntArray, RowArray, column_at
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.profile import LaterScorer, Profile
from bayplan.core.framework.speed_hints import NodeGroups
from bayplan.core.scoring import check_range
from bayplan.core.snapshot import View


class GroupedScores:
    """What is known of the groups for pods of one shape."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._groups: dict[str, NodeGroups] = {}
        self._none_at: dict[str, tuple[int, int]] = {}  # when a plugin said that it has none

    def weighted(self, scorer: LaterScorer, pod: PodInfo, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) what it adds to places in a ranking where `rows` are feasible; None without groups."""
        groups = self._groups_of(scorer, pod, view, rows)
        if groups is None:
            return None
        scores = groups.scores()
        numbers = column_at(rows, groups.groups)
        check_range(scorer.plugin.name, scores)
        scores *= self._profile.weights[scorer.plugin.name] * RANKS
        return scores.take(numbers, mode="clip")

    def _groups_of(self, scorer: LaterScorer, pod: PodInfo, view: View, rows: RowArray) -> NodeGroups | None:
        if scorer.group_nodes is None:
            return None
        name = scorer.plugin.name
        known = self._groups.get(name)
        if known is not None and known.follow(pod, view, rows):
            return known
        instant = (view.nodes.spec_changes.position, view.objects.version)
        if known is None and self._none_at.get(name) == instant:
            return None
        found = scorer.group_nodes(pod, view, rows)
        if found is None:
            self._groups.pop(name, None)
            self._none_at[name] = instant
        else:
            self._groups[name] = found
        return found
