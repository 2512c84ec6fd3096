"""An integer program for HiGHS: variables, rows, a minimum, and how far below it the true minimum could lie.

Takes whole-number variables from 0 to a limit with a cost each, and rows that bound weighted sums of them. Gives the
values found and a proven lower bound for the cost; both are there even if time ran out. One thread, so that the same
input gives the same answer. Rows are scaled, as bytes and cores in one program are beyond what a solver tolerates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from highspy import HighsLp

#: A solver's numbers are this exact at best; a bound of 2.9999999 means 3.
_EXACTNESS = 1e-6


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver found."""

    values: tuple[int, ...] | None  # None: nothing was found
    bound: float  # no solution costs less; infinite if there is none

    @property
    def is_impossible(self) -> bool:
        return self.bound == inf


class IntegerProgram:
    """Minimize the cost of variables under rows."""

    def __init__(self) -> None:
        self._costs: list[float] = []
        self._uppers: list[float] = []
        self._lower_limits: list[float] = []
        self._upper_limits: list[float] = []
        self._starts: list[int] = [0]
        self._columns: list[int] = []
        self._weights: list[float] = []

    @property
    def size(self) -> int:
        return len(self._costs)

    def variable(self, upper: float, cost: float = 0.0) -> int:
        """A whole number from 0 to `upper`; gives its position."""
        self._costs.append(cost)
        self._uppers.append(upper)
        return len(self._costs) - 1

    def at_most(self, terms: Sequence[tuple[int, float]], limit: float) -> None:
        """The sum of weight times variable is at most `limit`."""
        self._row(terms, -inf, limit)

    def exactly(self, terms: Sequence[tuple[int, float]], amount: float) -> None:
        self._row(terms, amount, amount)

    def _row(self, terms: Sequence[tuple[int, float]], lower: float, upper: float) -> None:
        scale = max((abs(weight) for _, weight in terms), default=1.0) or 1.0
        self._columns += [position for position, _ in terms]
        self._weights += [weight / scale for _, weight in terms]
        self._starts.append(len(self._columns))
        self._lower_limits.append(lower / scale)
        self._upper_limits.append(upper / scale)

    def minimize(self, seconds: float) -> Solved:
        """The cheapest values that were found in this time."""
        if not self.size:
            fits = all(low <= 0 <= high for low, high in zip(self._lower_limits, self._upper_limits, strict=True))
            return Solved((), 0.0) if fits else Solved(None, inf)
        import highspy  # noqa: PLC0415 - takes long to load, and few questions need it

        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", max(0.01, seconds))
        solver.setOptionValue("mip_rel_gap", 0.0)
        model = highspy.HighsLp()
        self._fill(model)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.integrality_ = [highspy.HighsVarType.kInteger] * self.size
        solver.passModel(model)
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Solved(None, inf)
        found = info.primal_solution_status == highspy.kSolutionStatusFeasible
        values = tuple(round(value) for value in solver.getSolution().col_value) if found else None
        bound = info.mip_dual_bound
        return Solved(values, -inf if bound == inf else bound - _EXACTNESS)

    def _fill(self, model: HighsLp) -> None:
        model.num_col_, model.num_row_ = self.size, len(self._lower_limits)
        model.col_cost_ = np.array(self._costs)
        model.col_lower_, model.col_upper_ = np.zeros(self.size), np.array(self._uppers)
        model.row_lower_, model.row_upper_ = np.array(self._lower_limits), np.array(self._upper_limits)
        model.a_matrix_.start_ = np.array(self._starts)
        model.a_matrix_.index_ = np.array(self._columns)
        model.a_matrix_.value_ = np.array(self._weights)
