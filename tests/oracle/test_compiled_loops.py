"""The compiled loops against the same rules written out for one node at a time, with Python's own numbers.

Amounts of every size, as the loops take another way where doubles would not be exact; tables that lie in memory in
any way; all rows, or some of them, in any order and more than once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from bayplan.core.columns import BoolArray, IntArray, RowArray, loops

compiled: Any = loops.compiled
if compiled is None:
    pytest.skip("no compiled loops: there was no C compiler when the package was installed", allow_module_level=True)

COLUMNS = 4
NOT_FEASIBLE = -(2**63)
Steps = tuple[tuple[int, int, Any], ...]
BLOCK = 256  # rows that the loops process together

# ---------------------------------------------------------------- one node at a time


def wrapped(number: int) -> int:
    """As an int64."""
    return (number + 2**63) % 2**64 - 2**63


def truncated(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def fit_code(tables: Tables, row: int, demands: tuple[tuple[str, int, int, int, bool], ...]) -> int:
    code = int(tables.pod_counts[row] >= tables.allowed_pods[row])
    for _, column, amount, bit, may_be_devices in demands:
        capacity = int(tables.allocatable[row, column])
        if may_be_devices and not capacity:
            continue
        if capacity - int(tables.requested[row, column]) < amount:
            code |= bit
        if capacity < amount:
            code |= 1 << 62
    return code


def fit_score(tables: Tables, row: int, scored: tuple[tuple[int, int, int], ...], *, most: bool) -> int:
    total = weights = 0
    for column, request, weight in scored:
        capacity = int(tables.allocatable[row, column])
        taken = tables.nonzero_requested if column < 2 else tables.requested
        if capacity:
            needed = min(int(taken[row, column]) + request, capacity)
            total += weight * truncated(wrapped(100 * (needed if most else capacity - needed)), capacity)
            weights += weight
    return truncated(total, weights) if weights else 0


def balance_score(tables: Tables, row: int, scored: tuple[tuple[int, int, int], ...]) -> int:
    offered = [each for each in scored if tables.allocatable[row, each[0]]]
    if len(offered) < 2:
        return 75

    def evenness(*, with_pod: bool) -> int:
        shares = [
            min(
                1.0,
                float(int(tables.requested[row, column]) + with_pod * request) / float(tables.allocatable[row, column]),
            )
            for column, request, _ in offered
        ]
        if len(shares) == 2:
            deviation = abs(shares[0] - shares[1]) / 2
        else:
            mean = sum(shares) / len(shares)
            deviation = math.sqrt(sum((share - mean) * (share - mean) for share in shares) / len(shares))
        return int((1 - deviation) * 100)

    return (150 + evenness(with_pod=True) - evenness(with_pod=False)) // 2


# ---------------------------------------------------------------- random tables


class Tables(NamedTuple):
    """What nodes have, and what pods take of it."""

    allocatable: IntArray
    requested: IntArray
    nonzero_requested: IntArray
    allowed_pods: IntArray
    pod_counts: IntArray


LARGEST = (2, 5_000, 1 << 40, 1 << 44, (1 << 45) - 1, 1 << 46, 1 << 54, 1 << 61)
LAID_OUT: dict[str, Callable[[IntArray], IntArray]] = {
    "by row": np.ascontiguousarray,
    "by column": np.asfortranarray,
    "every other row": lambda table: np.repeat(table, 2, axis=0)[::2],
    "backwards": lambda table: np.ascontiguousarray(table[::-1])[::-1],
}


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.sampled_from([0, 1, 3, 7, BLOCK - 1, BLOCK, BLOCK + 1, 600]))
    limits = np.array([draw(st.sampled_from(LARGEST)) for _ in range(COLUMNS)])
    allocatable = rng.integers(1, limits + 1, (count, COLUMNS))
    if draw(st.booleans()):
        allocatable[rng.random((count, COLUMNS)) < 0.2] = 0
    requested = rng.integers(0, limits + 1, (count, COLUMNS))
    if draw(st.booleans()):
        requested = np.minimum(requested, allocatable)
    lay_out = LAID_OUT[draw(st.sampled_from(sorted(LAID_OUT)))]
    pods = rng.integers(0, 4, (count, 2))
    more = rng.integers(0, 3, (count, 2))
    return Tables(*map(lay_out, (allocatable, requested, requested[:, :2] + more, pods[:, 0], pods[:, 1])))


@st.composite
def rows_of(draw: st.DrawFn, count: int) -> RowArray | None:
    if draw(st.booleans()):
        return None
    places = draw(st.lists(st.integers(0, max(0, count - 1)), max_size=40 if count else 0))
    rows = np.array(places * draw(st.integers(1, 9)), dtype=np.intp)
    return rows[::-1] if draw(st.booleans()) else rows


amounts = st.sampled_from(LARGEST).flatmap(lambda limit: st.integers(0, limit))
scored_resources = st.lists(
    st.tuples(st.integers(0, COLUMNS - 1), amounts, st.integers(1, 100)), max_size=COLUMNS, unique_by=lambda it: it[0]
).map(tuple)


def answers(rows: RowArray | None, count: int) -> IntArray:
    return np.full(count if rows is None else len(rows), -1, dtype=np.int64)


def each_row(rows: RowArray | None, count: int) -> list[int]:
    return list(range(count)) if rows is None else [int(row) for row in rows]


@examples(150)
@given(given_tables=tables(), data=st.data())
def test_failure_codes(given_tables: Tables, data: st.DataObject) -> None:
    count = len(given_tables.allocatable)
    rows = data.draw(rows_of(count), label="rows")
    asked = data.draw(
        st.lists(st.tuples(st.integers(0, COLUMNS - 1), amounts, st.booleans()), max_size=4), label="asked"
    )
    demands = tuple(
        ("name", column, amount, 1 << bit, devices) for bit, (column, amount, devices) in enumerate(asked, start=1)
    )
    codes = answers(rows, count)
    limits = (given_tables.allowed_pods, given_tables.pod_counts)
    compiled.fit_codes(codes, rows, given_tables.allocatable, given_tables.requested, *limits, demands)
    assert codes.tolist() == [fit_code(given_tables, row, demands) for row in each_row(rows, count)]


@examples(200)
@given(given_tables=tables(), scored=scored_resources, most=st.booleans(), data=st.data())
def test_scores_of_fit(
    given_tables: Tables, scored: tuple[tuple[int, int, int], ...], most: bool, data: st.DataObject
) -> None:
    count = len(given_tables.allocatable)
    rows = data.draw(rows_of(count), label="rows")
    scores = answers(rows, count)
    compiled.fit_scores(scores, rows, *given_tables[:3], scored, most)
    assert scores.tolist() == [fit_score(given_tables, row, scored, most=most) for row in each_row(rows, count)]


@examples(200)
@given(given_tables=tables(), scored=scored_resources, data=st.data())
def test_scores_of_balance(given_tables: Tables, scored: tuple[tuple[int, int, int], ...], data: st.DataObject) -> None:
    count = len(given_tables.allocatable)
    rows = data.draw(rows_of(count), label="rows")
    scores = answers(rows, count)
    compiled.balance_scores(scores, rows, *given_tables[:2], scored)
    assert scores.tolist() == [balance_score(given_tables, row, scored) for row in each_row(rows, count)]


def place_in_ranking(
    tables: Tables, row: int, steps: Steps, settled: BoolArray, lasting: IntArray | None, rank: int
) -> int:
    total = 0 if lasting is None else int(lasting[row])
    for rule, weight, asked in steps:
        if rule == loops.FIT_CODES:
            if fit_code(tables, row, asked):
                return NOT_FEASIBLE
        elif rule == loops.BALANCED:
            total += weight * balance_score(tables, row, asked)
        else:
            total += weight * fit_score(tables, row, asked, most=rule == loops.MOST_ALLOCATED)
    return NOT_FEASIBLE if settled[row] else wrapped(total * 2**32 - rank)


demanded_resources = st.lists(st.tuples(st.integers(0, COLUMNS - 1), amounts, st.booleans()), max_size=3).map(
    lambda asked: tuple(
        ("name", column, amount, 2 << at, devices) for at, (column, amount, devices) in enumerate(asked)
    )
)
steps_of_pods: st.SearchStrategy[Steps] = st.lists(
    st.tuples(st.just(loops.FIT_CODES), st.just(0), demanded_resources)
    | st.tuples(
        st.sampled_from([loops.LEAST_ALLOCATED, loops.MOST_ALLOCATED, loops.BALANCED]),
        st.integers(1, 100),
        scored_resources,
    ),
    max_size=5,
).map(tuple)


@examples(300)
@given(given_tables=tables(), steps=steps_of_pods, data=st.data())
def test_all_rules_together(given_tables: Tables, steps: Steps, data: st.DataObject) -> None:
    count = len(given_tables.allocatable)
    rows = data.draw(rows_of(count), label="rows")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    lasting = rng.integers(0, 300, count) if data.draw(st.booleans(), label="lasting") else None
    settled, ranks = rng.random(count) < data.draw(st.sampled_from([0.0, 0.3, 1.0])), rng.permutation(count)
    taken = np.column_stack((given_tables.pod_counts, given_tables.nonzero_requested, given_tables.requested))
    lay_out = LAID_OUT[data.draw(st.sampled_from(sorted(LAID_OUT)))]
    values = answers(rows, count)
    arrays = (given_tables.allocatable, lay_out(taken), given_tables.allowed_pods, ranks)
    feasible, best = compiled.appraise(values, rows, *arrays, settled, lasting, steps, 32, None)
    assert values.tolist() == [
        place_in_ranking(given_tables, row, steps, settled, lasting, int(ranks[row])) for row in each_row(rows, count)
    ]
    assert feasible == np.count_nonzero(values != NOT_FEASIBLE)
    assert best == (values.argmax() if feasible else -1)


@pytest.mark.parametrize("seed", range(80))
def test_answers_that_are_kept(seed: int) -> None:
    """Rows that have changed get their new value, who passes is noted, and what is settled is taken from there."""
    rng = np.random.default_rng(seed)
    count, bits = int(rng.choice([1, 5, 2 * BLOCK + 9])), int(rng.integers(0, 5))
    given_tables = Tables(*(rng.integers(0, 5, (count, 2)) for _ in range(3)), *rng.integers(0, 4, (2, count)))
    steps = (
        (loops.FIT_CODES, 0, (("name", 0, int(rng.integers(0, 3)), 2, False),)),
        (loops.LEAST_ALLOCATED, 1, ((0, 1, 1), (1, 1, 1))),
    )
    settled, ranks = rng.random(count) < 0.3, rng.permutation(count)
    settled_by, settled_codes = rng.integers(-1, 3, count).astype(np.int8), rng.integers(0, 3, count)
    passed = rng.random(count) < 0.6
    values = np.where(passed, rng.integers(0, 9, count), NOT_FEASIBLE)
    bounds = np.maximum.reduceat(values, np.arange(0, count, 1 << bits))
    rejected_by, codes = np.where(passed, -1, rng.integers(-1, 3, count)).astype(np.int8), rng.integers(0, 3, count)
    rows = rng.integers(0, count, rng.integers(0, 2 * count))

    new_values, new_passed = values.copy(), passed.copy()
    new_rejected_by, new_codes = rejected_by.copy(), codes.copy()
    undecided = 0
    for row in rows.tolist():
        new_values[row] = place_in_ranking(given_tables, row, steps, settled, None, int(ranks[row]))
        new_passed[row] = new_values[row] != NOT_FEASIBLE
        if settled[row]:
            new_rejected_by[row], new_codes[row] = settled_by[row], settled_codes[row]
        elif not new_passed[row]:
            undecided += 1
        elif not passed[row]:
            new_rejected_by[row], new_codes[row] = -1, 0
    news = (
        np.count_nonzero(new_passed) - np.count_nonzero(passed),
        np.count_nonzero(new_passed != passed),
        np.count_nonzero((new_rejected_by != rejected_by) | (new_codes != codes)),
        undecided,
    )

    taken = np.column_stack((given_tables.pod_counts, given_tables.nonzero_requested, given_tables.requested))
    arrays = (given_tables.allocatable, taken, given_tables.allowed_pods, ranks, settled, None)
    ranking = (values, bounds if rng.integers(0, 2) else None, bits)
    kept = (passed, rejected_by, codes, settled_by, settled_codes)
    before = bounds.copy()
    assert compiled.revise(rows, *arrays, steps, 32, *ranking, *kept) == news
    assert values.tolist() == new_values.tolist()
    assert passed.tolist() == new_passed.tolist()
    assert rejected_by.tolist() == new_rejected_by.tolist()
    assert codes.tolist() == new_codes.tolist()
    if ranking[1] is None:
        assert bounds.tolist() == before.tolist()
    else:
        assert (values <= np.repeat(bounds, 1 << bits)[:count]).all()
        assert (bounds == np.maximum(before, np.maximum.reduceat(values, np.arange(0, count, 1 << bits)))).all()


@pytest.fixture(params=[0, 1, 2], ids=["divisions", "256 bits", "512 bits"])
def variant(request: pytest.FixtureRequest) -> Iterator[int]:
    """How the shorter way is computed: CPUs differ in what they have."""
    if not compiled.use_variant(request.param):
        pytest.skip("this CPU lacks the instructions")
    yield request.param
    for each in range(3):  # the last of those that there are
        compiled.use_variant(each)


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("seed", range(60))
def test_the_usual_rules_together(seed: int) -> None:
    """There is a shorter way for pods that ask for cpu and memory under the default profile, unless amounts are odd."""
    rng = np.random.default_rng(seed)
    count, limit = BLOCK + 44, int(rng.choice([3, 100, 5_000, 1 << 44, 1 << 54]))
    allocatable = rng.integers(rng.integers(0, 2), limit, (count, COLUMNS), endpoint=True)
    requested = rng.integers(0, allocatable, endpoint=True)
    requested[rng.random((count, COLUMNS)) < 0.3] = 0  # whole percentages, which a quotient must not fall short of
    nonzero = requested[:, :2] + rng.integers(0, 3, (count, 2))
    pods, ranks, settled = rng.integers(0, 4, (count, 2)), rng.permutation(count), rng.random(count) < 0.1
    if seed % 2:
        allocatable[settled] = 0  # as where nodes have left
    given_tables = Tables(allocatable, requested, nonzero, pods[:, 0], pods[:, 1])
    ask_max = int(rng.choice([0, min(limit, 1 << 44) // 2]))
    asked, scored, balanced = (rng.integers(0, ask_max, 2, endpoint=True).tolist() for _ in range(3))
    weights = rng.integers(1, 9, 2).tolist()
    steps = (
        (loops.FIT_CODES, 0, tuple(("name", at, asked[at], 2 << at, False) for at in range(rng.integers(0, 3)))),
        (loops.LEAST_ALLOCATED, int(rng.integers(1, 5)), tuple((at, scored[at], weights[at]) for at in range(2))),
        (loops.BALANCED, int(rng.integers(1, 5)), tuple((at, balanced[at], 1) for at in range(2))),
    )
    taken = np.asfortranarray(np.column_stack((pods[:, 1], nonzero, requested)))
    values = answers(None, count)
    arrays = (np.asfortranarray(allocatable), taken, given_tables.allowed_pods, ranks)
    compiled.appraise(values, None, *arrays, settled, None, steps, 32, None)
    assert values.tolist() == [
        place_in_ranking(given_tables, row, steps, settled, None, int(ranks[row])) for row in range(count)
    ]


@examples(100)
@given(seed=st.integers(0, 2**32), layout=st.sampled_from(sorted(LAID_OUT)), sign=st.sampled_from([1, -1]))
def test_a_row_that_grows_or_shrinks(seed: int, layout: str, sign: int) -> None:
    rng = np.random.default_rng(seed)
    table = LAID_OUT[layout](rng.integers(-(2**63), 2**63 - 1, (5, COLUMNS), endpoint=True))
    amounts, row = rng.integers(-(2**63), 2**63 - 1, COLUMNS, endpoint=True), int(rng.integers(5))
    expected = table.tolist()
    expected[row] = [wrapped(a + sign * b) for a, b in zip(expected[row], amounts.tolist(), strict=True)]
    compiled.add_to_row(table, row, amounts.tobytes(), sign)
    assert table.tolist() == expected


@examples(100)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_a_ranking_that_changes(seed: int, data: st.DataObject) -> None:
    """Whatever happened to it, its first highest value is found, and no value exceeds its bound."""
    rng = np.random.default_rng(seed)
    count, bits = data.draw(st.integers(1, 70), label="rows"), data.draw(st.integers(0, 4), label="bits")
    values = rng.integers(-5, 5, count)
    bounds = np.maximum.reduceat(values, np.arange(0, count, 1 << bits))
    for _ in range(6):
        rows = rng.permutation(count)[: rng.integers(0, count + 1)]
        new = rng.integers(-9, 9, 2 * len(rows))[::2]
        expected = values.copy()
        expected[rows] = new
        compiled.put_rows(values, bounds, bits, rows, new)
        assert values.tolist() == expected.tolist()
        assert compiled.best_row(values, bounds, bits) == values.argmax()
        assert (values <= np.repeat(bounds, 1 << bits)[:count]).all()


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2), max_size=40), lowest=st.integers(-2, 2))
def test_ties(values: list[int], lowest: int) -> None:
    tied = [value >= lowest for value in values]
    packed = np.packbits(np.array(tied, dtype=np.bool_)).tobytes()
    array = np.array(values, dtype=np.int64)
    assert compiled.ties(array, None, 0, lowest) == (sum(tied), packed)
    for bits in (1, 3, 4) if values else ():
        bounds = np.maximum.reduceat(array, np.arange(0, len(array), 1 << bits))
        bounds += bounds < 0  # which may be too high
        assert compiled.ties(array, bounds, bits, lowest) == (sum(tied), packed)


def test_ties_are_looked_for_where_a_bound_allows_them() -> None:
    values, bounds = np.full(32, 7), np.array([7, 6])
    assert compiled.ties(values, bounds, 4, 7) == (16, b"\xff\xff\x00\x00")


# ---------------------------------------------------------------- arguments that make no sense

FOUR = np.ones((4, 2), dtype=np.int64)
OUT = np.zeros(4, dtype=np.int64)
REFUSED: dict[str, tuple[type[Exception], str, tuple[Any, ...]]] = {
    "too few arguments": (TypeError, "expected 5 arguments, got 3", (OUT, None, FOUR)),
    "a row too far": (IndexError, "a row is outside", (OUT[:1], np.array([4]), FOUR, FOUR, ())),
    "a negative row": (IndexError, "a row is outside", (OUT[:1], np.array([-1]), FOUR, FOUR, ())),
    "tables of different length": (IndexError, "a row is outside", (OUT, None, FOUR, FOUR[:3], ())),
    "more answers than rows": (ValueError, "as long as rows", (OUT, np.array([1]), FOUR, FOUR, ())),
    "answers that do not lie side by side": (ValueError, "must be contiguous", (OUT[::2], None, FOUR, FOUR, ())),
    "small numbers": (ValueError, "expected int64 arrays", (OUT, None, FOUR.astype(np.int32), FOUR, ())),
    "an unknown resource": (IndexError, "a resource is outside", (OUT, None, FOUR, FOUR, ((2, 1, 1),))),
    "too many resources": (ValueError, "too many resources", (OUT, None, FOUR, FOUR, ((0, 1, 1),) * 65)),
    "an amount that is no int64": (OverflowError, "too big|too large", (OUT, None, FOUR, FOUR, ((0, 1 << 63, 1),))),
    "what is no tuple": (TypeError, "a tuple of tuples", (OUT, None, FOUR, FOUR, [(0, 1, 1)])),
    "what is no tuple of tuples": (TypeError, "a tuple of tuples", (OUT, None, FOUR, FOUR, (1,))),
    "an entry too short": (IndexError, "tuple index out of range", (OUT, None, FOUR, FOUR, ((0,),))),
    "what is no number": (TypeError, "integer", (OUT, None, FOUR, FOUR, ((0, "1", 1),))),
    "what is no array": (TypeError, "bytes-like", (OUT, None, None, FOUR, ())),
    "answers that cannot be written": (BufferError, "not writable", (b"12345678", None, FOUR, FOUR, ())),
}


REFUSED_RANKINGS: dict[str, tuple[type[Exception], str, str, tuple[Any, ...]]] = {
    "too few blocks": (ValueError, "a bound for each block", "best_row", (OUT, OUT[:1], 1)),
    "nothing to rank": (ValueError, "a bound for each block", "best_row", (OUT[:0], OUT[:0], 1)),
    "values that do not lie side by side": (ValueError, "a bound for each block", "best_row", (OUT[::2], OUT[:1], 1)),
    "a negative number of bits": (ValueError, "a bound for each block", "best_row", (OUT, OUT, -1)),
    "no number of bits": (TypeError, "integer", "best_row", (OUT, OUT[:2], "1")),
    "a row outside of a ranking": (IndexError, "a row is outside", "put_rows", (OUT, OUT[:2], 1, OUT[:1] + 4, OUT[:1])),
    "a value for each row": (IndexError, "a row is outside", "put_rows", (OUT, OUT[:2], 1, OUT[:2], OUT[:1])),
    "ties that do not lie side by side": (ValueError, "contiguous", "ties", (OUT[::2], None, 0, 0)),
    "no lowest value": (TypeError, "integer", "ties", (OUT, None, 0, None)),
    "ties beside other bounds": (ValueError, "a bound for each block", "ties", (OUT, OUT, 3, 0)),
    "a row that is not there": (IndexError, "a row is outside", "add_to_row", (FOUR, 4, bytes(16), 1)),
    "a row before the first": (IndexError, "a row is outside", "add_to_row", (FOUR, -1, bytes(16), 1)),
    "a shorter row": (IndexError, "of another length", "add_to_row", (FOUR, 0, bytes(8), 1)),
    "amounts that are no bytes": (TypeError, "bytes", "add_to_row", (FOUR, 0, None, 1)),
    "small numbers in a row": (ValueError, "expected int64 arrays", "add_to_row", (FOUR.astype(np.int32), 0, b"", 1)),
    "no sign": (TypeError, "integer", "add_to_row", (FOUR, 0, bytes(16), None)),
}


NONE_SETTLED = np.zeros(4, dtype=np.bool_)
STEP = (loops.BALANCED, 1, ((0, 1, 1), (1, 1, 1)))
#: The arguments in order; each entry below replaces one of them.
MAKES_SENSE: dict[str, Any] = {
    "out": OUT,
    "rows": None,
    "allocatable": FOUR,
    "taken": np.ones((4, 5), dtype=np.int64),
    "allowed_pods": OUT,
    "name_ranks": OUT,
    "settled": NONE_SETTLED,
    "lasting": None,
    "steps": (STEP,),
    "bits": 32,
    "asked": None,
}
REFUSED_APPRAISALS: dict[str, tuple[type[Exception], str, str, Any]] = {
    "too little that is taken": (ValueError, "taken has", "taken", FOUR),
    "flags of other rows": (IndexError, "a row is outside", "settled", NONE_SETTLED[:3]),
    "flags that are numbers": (ValueError, "expected int64", "settled", OUT),
    "flags in a table": (IndexError, "a row is outside", "settled", NONE_SETTLED[:, None]),
    "scores of other rows": (IndexError, "a row is outside", "lasting", OUT[:3]),
    "ranks of other rows": (IndexError, "a row is outside", "name_ranks", OUT[:3]),
    "an unknown rule": (ValueError, "no such rule", "steps", ((4, 1, ()),)),
    "a step too short": (ValueError, "a step has", "steps", ((0, 1),)),
    "no steps": (TypeError, "a tuple of tuples", "steps", None),
    "what is no step": (TypeError, "a tuple of tuples", "steps", (1,)),
    "what is no rule": (TypeError, "integer", "steps", (("a", 1, ()),)),
    "too many steps": (ValueError, "too many steps", "steps", (STEP,) * 9),
    "an unknown resource": (IndexError, "a resource is outside", "steps", ((3, 1, ((2, 1, 1),)),)),
    "what is asked for is no tuple": (TypeError, "expected a tuple", "asked", [1]),
    "what is asked for is missing": (IndexError, "out of range", "asked", ()),
    "what is asked for is no number": (TypeError, "integer", "asked", (1, None)),
    "too many bits": (ValueError, "less than 63 bits", "bits", 63),
    "no bits": (TypeError, "integer", "bits", None),
}


@pytest.mark.parametrize(
    ("error", "message", "name", "value"), REFUSED_APPRAISALS.values(), ids=REFUSED_APPRAISALS.keys()
)
def test_what_cannot_be_appraised_is_refused(error: type[Exception], message: str, name: str, value: Any) -> None:
    """And no array is held on to."""
    arguments = (MAKES_SENSE | {name: value}).values()
    assert compiled.appraise(*MAKES_SENSE.values()) == (4, 0)
    held = sys.getrefcount(OUT), sys.getrefcount(FOUR), sys.getrefcount(NONE_SETTLED)
    with pytest.raises(error, match=message):
        compiled.appraise(*arguments)
    assert (sys.getrefcount(OUT), sys.getrefcount(FOUR), sys.getrefcount(NONE_SETTLED)) == held


KEPT: dict[str, Any] = {
    "rows": np.arange(4),
    **{name: MAKES_SENSE[name] for name in list(MAKES_SENSE)[2:-1]},
    "values": np.zeros(4, dtype=np.int64),
    "bounds": np.zeros(2, dtype=np.int64),
    "block_bits": 1,
    "passed": np.ones(4, dtype=np.bool_),
    "rejected_by": np.full(4, -1, dtype=np.int8),
    "codes": np.zeros(4, dtype=np.int64),
    "settled_by": np.full(4, -1, dtype=np.int8),
    "settled_codes": np.zeros(4, dtype=np.int64),
}


def none_passed() -> IntArray:
    return np.full(4, NOT_FEASIBLE)


#: What is given instead. Some arguments count only if a row has not passed before.
REFUSED_REVISIONS: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "rows that are not there": (IndexError, "a row is outside", {"rows": np.array([4])}),
    "no rows": (TypeError, "buffer|bytes-like", {"rows": None}),
    "values of other rows": (IndexError, "a row is outside", {"values": OUT[:3]}),
    "values apart": (ValueError, "side by side", {"values": np.zeros(8, dtype=np.int64)[::2]}),
    "bounds of other blocks": (IndexError, "a row is outside", {"bounds": OUT[:1]}),
    "too many bits": (ValueError, "less than 32 bits", {"block_bits": 32}),
    "too few bits": (ValueError, "less than 32 bits", {"block_bits": -1}),
    "no bits": (TypeError, "integer", {"block_bits": None}),
    "flags of other rows": (IndexError, "a row is outside", {"passed": NONE_SETTLED[:3], "values": none_passed()}),
    "verdicts of other rows": (
        IndexError,
        "a row is outside",
        {"rejected_by": KEPT["settled_by"][:3], "values": none_passed()},
    ),
    "codes of other rows": (IndexError, "a row is outside", {"codes": OUT[:3], "values": none_passed()}),
    "what others settled": (
        IndexError,
        "a row is outside",
        {"settled_by": KEPT["settled_by"][:3], "values": none_passed()},
    ),
    "why others did": (IndexError, "a row is outside", {"settled_codes": OUT[:3], "values": none_passed()}),
    "values that cannot be written": (BufferError, "not writable", {"values": b"12345678"}),
}


@pytest.mark.parametrize(("error", "message", "given"), REFUSED_REVISIONS.values(), ids=REFUSED_REVISIONS.keys())
def test_what_cannot_be_revised_is_refused(error: type[Exception], message: str, given: dict[str, Any]) -> None:
    """And no array is held on to."""
    arguments = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in KEPT.items()} | given
    held = [sys.getrefcount(value) for value in arguments.values()]
    with pytest.raises(error, match=message):
        compiled.revise(*arguments.values())
    assert [sys.getrefcount(value) for value in arguments.values()] == held


@pytest.mark.parametrize(
    ("error", "message", "loop", "arguments"), REFUSED_RANKINGS.values(), ids=REFUSED_RANKINGS.keys()
)
def test_what_is_no_ranking_is_refused(
    error: type[Exception], message: str, loop: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(error, match=message):
        getattr(compiled, loop)(*arguments)


@pytest.mark.parametrize(("error", "message", "arguments"), REFUSED.values(), ids=REFUSED.keys())
def test_what_makes_no_sense_is_refused(error: type[Exception], message: str, arguments: tuple[Any, ...]) -> None:
    """And no array is held on to."""
    held = sys.getrefcount(OUT), sys.getrefcount(FOUR)
    with pytest.raises(error, match=message):
        compiled.balance_scores(*arguments)
    assert (sys.getrefcount(OUT), sys.getrefcount(FOUR)) == held
