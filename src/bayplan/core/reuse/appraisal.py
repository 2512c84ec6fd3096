"""How good nodes are for pods that look alike to local plugins: their places in a ranking, for one row, some, or all.

Puts what the local plugins that follow usage say on top of a `NodeBoard`. Where the compiled loops know the rules of
all these plugins, they apply them in one pass over the rows; otherwise the plugins are asked one after another. Does
not know which rows have changed, nor what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple, TypeAlias

import numpy as np

from bayplan.core import ranking
from bayplan.core.columns import BoolArray, IntArray, RowArray, column_at, every_row, loops
from bayplan.core.columns.loops import Outline, Rule, Step, outline_of
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import Verdicts, is_what_if
from bayplan.core.framework.contract import SKIP, FilterPlugin, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.speed_hints import hint
from bayplan.core.reuse.node_board import NodeBoard, Plain, following_scorers, sum_of_scores
from bayplan.core.snapshot import View

#: In a ranking: the node is not feasible. Any real value is larger.
NOT_FEASIBLE = np.iinfo(np.int64).min
#: A ranking has total * RANKS - rank by name, so that its highest value is the best total and the smallest name.
RANK_BITS = 32
RANKS = 1 << RANK_BITS


def tied_from(total: int) -> int:
    """The lowest value that a node with this total can have in a ranking."""
    return (total - 1) * RANKS + 1


def total_of(value: int) -> int:
    """The total that a value in a ranking stands for: no rank is as large as RANKS."""
    return -(-value // RANKS)


class Moving(NamedTuple):
    """A local filter that follows usage and has something to do for the pods in question."""

    position: int  # among the filters of the profile
    plugin: FilterPlugin
    state: State


#: What became of some rows:
#: (rows,) values as in a ranking, without the scores that are normalized;
#: how many rows are feasible;
#: the first place with the highest value, -1 if no row is feasible.
Appraised: TypeAlias = tuple[IntArray, int, int]

#: What has changed in answers that are kept: how many more rows pass; of how many it is another answer than before;
#: how many verdicts have changed; of how many rows it is not known why they fail.
Revised: TypeAlias = tuple[int, int, int, int]
NOTHING_CHANGED: Revised = (0, 0, 0, 0)


def appraised_by(outline: Outline, pod: PodInfo, view: View, node_board: NodeBoard) -> Appraised | None:
    """All rows, for a pod that asks plainly (see `PodShape`); None if plugins have to be asked."""
    if loops.compiled is None:
        return None
    asked = tuple(pod.shape.requests.asked.values())
    return _applied(loops.compiled, outline, view, node_board, every_row(view.nodes.count), asked)


class Appraisal:
    """For pods that look alike to local plugins. `states` are those of the profile's local filters."""

    __slots__ = ("_following", "_steps", "moving", "sees_usage_alone")

    def __init__(self, profile: Profile, pod: PodInfo, view: View, states: Sequence[State]) -> None:
        filters, first = profile.local_filters, profile.lasting_filter_count
        self.moving = [
            Moving(position, filters[position], states[position])
            for position in range(first, len(filters))
            if states[position] is not SKIP
        ]
        self.sees_usage_alone = not any(is_what_if(type(each.plugin)) for each in self.moving)
        self._following = following_scorers(profile, pod, view)
        self._steps = _steps_of(self.moving, self._following)

    def of_rows(self, view: View, node_board: NodeBoard, rows: RowArray) -> Appraised:
        """Rows may be given several times."""
        compiled = self._applied_by()
        if compiled is None or self._steps is None:
            return self._ask_about(view, node_board, rows)
        return _applied(compiled, self._steps, view, node_board, rows)

    def revise(
        self,
        view: View,
        node_board: NodeBoard,
        rows: RowArray,
        name_ranks: IntArray,
        values: IntArray,
        bounds: IntArray | None,
        passed: BoolArray,
        verdicts: Verdicts,
    ) -> Revised | None:
        """Bring these rows up to date, in arrays of all nodes; None, and nothing done, if plugins have to be asked.

        `bounds` are those of the ranking that has the values, if there is one.
        """
        compiled, nodes, settled = self._applied_by(), view.nodes, node_board.verdicts
        if compiled is None:
            return None
        # One by one, as tuples would take as long as the loop.
        revised: Revised = compiled.revise(
            rows,
            nodes.allocatable,
            nodes.taken,
            nodes.allowed_pods,
            name_ranks,
            node_board.settled,
            node_board.lasting,
            self._steps,
            RANK_BITS,
            values,
            bounds,
            ranking.BLOCK_BITS,
            passed,
            verdicts.rejected_by,
            verdicts.codes,
            settled.rejected_by,
            settled.codes,
        )
        return revised

    def fails_in(self, world: View, rows: RowArray) -> BoolArray | None:
        """(rows,) True where a local filter that follows usage rejects the row under `world.usage`; None: nowhere."""
        failed: BoolArray | None = None
        for _, plugin, state in self.moving:
            codes = plugin.filter(state, world, rows)
            if np.count_nonzero(codes):
                failed = codes != 0 if failed is None else failed | (codes != 0)
        return failed

    def _applied_by(self) -> ModuleType | None:
        """The compiled loops, unless plugins have to be asked: their rules are unknown."""
        return None if self._steps is None else loops.compiled

    def outline(self, view: View, asked: Sequence[str]) -> Outline | None:
        """For pods that ask for other amounts of the same resources; None if plugins have to be asked."""
        return None if self._steps is None else outline_of(self._steps, view.nodes.resources.values, asked)

    def _ask_about(self, view: View, node_board: NodeBoard, rows: RowArray) -> Appraised:
        rejected = self._rejected(view, node_board, rows)
        feasible = len(rows) if rejected is None else len(rows) - int(np.count_nonzero(rejected))
        if not feasible:
            return np.full(len(rows), NOT_FEASIBLE), 0, -1
        values = sum_of_scores(self._following, view, rows, None if rejected is None else ~rejected)
        if node_board.lasting is not None:
            values += column_at(rows, node_board.lasting)
        values *= RANKS
        values -= column_at(rows, view.nodes.name_ranks())
        if rejected is not None:
            values[rejected] = NOT_FEASIBLE
        return values, feasible, int(values.argmax())

    def _rejected(self, view: View, node_board: NodeBoard, rows: RowArray) -> BoolArray | None:
        """(rows,) which rows are not feasible; None: all are."""
        failing = self.fails_in(view, rows)
        if not node_board.any_settled:
            return failing
        settled = column_at(rows, node_board.settled)
        return settled if failing is None else settled | failing


def _applied(
    compiled: ModuleType,
    steps: tuple[Step, ...],
    view: View,
    node_board: NodeBoard,
    rows: RowArray,
    asked: tuple[int, ...] | None = None,
) -> Appraised:
    """`asked` is what the places in an outline stand for."""
    nodes = view.nodes
    given, values = loops.rows_to_fill(rows, nodes.count)
    tables = (nodes.allocatable, nodes.taken, nodes.allowed_pods, nodes.name_ranks())
    return values, *compiled.appraise(
        values, given, *tables, node_board.settled, node_board.lasting, steps, RANK_BITS, asked
    )


def _steps_of(moving: Sequence[Moving], following: Sequence[Plain]) -> tuple[Step, ...] | None:
    """What the compiled loops need to know; None if they do not know all of these rules."""
    weighted = [(_rule_of(each.plugin, "filter_rule", each.state), 0) for each in moving]
    weighted += [(_rule_of(scorer.plugin, "score_rule", state), scorer.weight) for scorer, state in following]
    steps = tuple([(rule.number, weight, rule.amounts) for rule, weight in weighted if rule is not None])
    return steps if len(steps) == len(weighted) else None


def _rule_of(plugin: object, name: str, state: State) -> Rule | None:
    ask = hint(plugin, name)
    return None if ask is None else ask(state)
