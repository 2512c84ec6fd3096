"""The compiled loops; see `_loops.c` for what each of them computes."""

from bayplan.core.columns import IntArray, RowArray

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
def rank(out: IntArray, rows: RowArray | None, name_ranks: IntArray, factor: int, /) -> None: ...
def best_row(values: IntArray, bounds: IntArray, bits: int, /) -> int: ...
def put_rows(values: IntArray, bounds: IntArray, bits: int, rows: RowArray, new: IntArray, /) -> None: ...
def ties(values: IntArray, lowest: int, /) -> tuple[int, bytes]: ...
