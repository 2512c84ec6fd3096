"""The compiled loops; see `_loops.c` for what each of them computes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayplan.core.columns import BoolArray, IntArray, RowArray

def fit_codes(
    out: IntArray,
    rows: RowArray | None,
    allocatable: IntArray,
    requested: IntArray,
    allowed_pods: IntArray,
    pod_counts: IntArray,
    demands: tuple[tuple[str, int, int, int, bool], ...],
    /,
) -> None: ...
def fit_scores(
    out: IntArray,
    rows: RowArray | None,
    allocatable: IntArray,
    requested: IntArray,
    nonzero_requested: IntArray,
    scored: tuple[tuple[int, int, int], ...],
    most: bool,
    /,
) -> None: ...
def balance_scores(
    out: IntArray,
    rows: RowArray | None,
    allocatable: IntArray,
    requested: IntArray,
    scored: tuple[tuple[int, int, int], ...],
    /,
) -> None: ...
def appraise(
    out: IntArray,
    rows: RowArray | None,
    allocatable: IntArray,
    taken: IntArray,
    allowed_pods: IntArray,
    name_ranks: IntArray,
    settled: BoolArray,
    lasting: IntArray | None,
    steps: tuple[tuple[int, int, Any], ...],
    bits: int,
    asked: tuple[int, ...] | None,
    /,
) -> tuple[int, int]: ...
def revise(
    rows: RowArray,
    allocatable: IntArray,
    taken: IntArray,
    allowed_pods: IntArray,
    name_ranks: IntArray,
    settled: BoolArray,
    lasting: IntArray | None,
    steps: tuple[tuple[int, int, Any], ...],
    bits: int,
    values: IntArray,
    bounds: IntArray | None,
    block_bits: int,
    passed: BoolArray,
    rejected_by: NDArray[np.int8],
    codes: IntArray,
    settled_by: NDArray[np.int8],
    settled_codes: IntArray,
    /,
) -> tuple[int, int, int, int]: ...
def best_row(values: IntArray, bounds: IntArray, bits: int, /) -> int: ...
def put_rows(values: IntArray, bounds: IntArray, bits: int, rows: RowArray, new: IntArray, /) -> None: ...
def ties(values: IntArray, bounds: IntArray | None, bits: int, lowest: int, /) -> tuple[int, bytes]: ...
def add_to_row(table: IntArray, row: int, amounts: bytes, sign: int, /) -> None: ...
def use_variant(variant: int, /) -> bool: ...
