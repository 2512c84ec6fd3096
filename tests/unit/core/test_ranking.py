"""A ranking finds what a look at all values finds, whatever has happened to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core import ranking
from bayplan.core.columns import row_array
from bayplan.core.ranking import Ranking

pytestmark = pytest.mark.usefixtures("either_way")

#: Rows with their new values; several rows at once, or a single one.
CHANGES = st.lists(st.lists(st.tuples(st.integers(0, 10), st.integers(-5, 5)), min_size=1, max_size=6), max_size=12)


@given(CHANGES)
def test_the_best_is_that_of_all(changes: list[list[tuple[int, int]]]) -> None:
    values = np.arange(11, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranking, "BLOCK_BITS", 2)
        patched.setattr(ranking, "BLOCKS_AT_ONCE", 2)
        ranked = Ranking(values.copy())
        for change in changes:
            new = {row: value * 100 + row for row, value in change}
            values[list(new)] = list(new.values())
            ranked.put_all(row_array(list(new)), np.array(list(new.values())))
            assert ranked.best() == values.argmax()
            assert ranked.values.tolist() == values.tolist()
            for lowest in (-1_000, 0, int(values.max()), 1_000):
                assert ranked.rows_from(lowest).tolist() == (values >= lowest).nonzero()[0].tolist()


def test_the_best_of_a_million_is_found_in_one_block() -> None:
    """What nobody has put there goes unnoticed in a block whose bound is lower."""
    ranked = Ranking(np.arange(1 << 20, 0, -1))
    ranked.values[-1] = 1 << 30
    for row in range(50):
        assert ranked.best() == row
        ranked.put_all(row_array([row]), np.array([-row]))
