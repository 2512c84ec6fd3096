"""Why nothing fits, in the scheduler's own words.

Verdicts are grouped before anything is put into words: a cluster of thousands of nodes has a handful of distinct
failures, and each is explained once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import BoolArray, RowArray
from bayplan.core.filtering import NOT_LOOKED_AT, PASSED, Filtered, Verdicts
from bayplan.core.framework.verdict import Status
from bayplan.core.snapshot import View

NO_NODES = "no nodes available to schedule pods"


class Diagnosis(NamedTuple):
    """Why a pod is unschedulable: the message, and the plugins that rejected it or some node."""

    message: str
    rejectors: tuple[str, ...] = ()


def failure_groups(filtered: Filtered, view: View) -> Iterator[tuple[Status, RowArray]]:
    """All failed nodes, grouped by verdict."""
    failed = np.flatnonzero(view.nodes.alive & (filtered.verdicts.rejected_by != PASSED))
    for position, code, rows in distinct_verdicts(filtered.verdicts, failed):
        yield filtered.explain(view, position, code), rows


def distinct_verdicts(verdicts: Verdicts, rows: RowArray) -> Iterator[tuple[int, int, RowArray]]:
    """Plugin position, failure code and rows of each distinct verdict among `rows`."""
    rejected_by = verdicts.rejected_by[rows]
    for position in np.flatnonzero(np.bincount(rejected_by.astype(np.int64) - NOT_LOOKED_AT)) + NOT_LOOKED_AT:
        left = rows[rejected_by == position]
        while len(left):
            # A handful of codes at most: taking them one by one is faster than sorting.
            code = verdicts.codes[left[0]]
            same = verdicts.codes[left] == code
            yield int(position), int(code), left[same]
            left = left[~same]


#: Up to this many rows are counted one by one, which costs less than array code for so few.
FEW_ROWS = 64


def count_verdicts(verdicts: Verdicts, rows: RowArray) -> Iterator[tuple[int, int, int]]:
    """Plugin position, failure code and number of rows of each distinct verdict among `rows`."""
    if len(rows) > FEW_ROWS:
        yield from ((position, code, len(same)) for position, code, same in distinct_verdicts(verdicts, rows))
        return
    pairs = zip(verdicts.rejected_by[rows].tolist(), verdicts.codes[rows].tolist(), strict=True)
    yield from ((position, code, count) for (position, code), count in Counter(pairs).items())


def without_preemption(message: str) -> str:
    """The part of a scheduler's message that is about nodes; what came of preemption follows it as a sentence."""
    return message.partition(". ")[0].removesuffix(".")


def diagnose(filtered: Filtered, view: View, post_filter_message: str) -> Diagnosis:
    return Diagnosis(fit_error(filtered, view, post_filter_message), filtered.rejectors(view))


def fit_error(filtered: Filtered, view: View, post_filter_message: str, among: BoolArray | None = None) -> str:
    """The message of a pod that fits nowhere; of those `among` (nodes,) where only they were in question."""
    in_question = view.nodes.alive if among is None else view.nodes.alive & among
    if filtered.pre.status.ok:
        reasons: Counter[str] = Counter()
        failed = (in_question & (filtered.verdicts.rejected_by != PASSED)).nonzero()[0]
        for position, code, count in count_verdicts(filtered.verdicts, failed):
            for reason in filtered.explain(view, position, code).reasons:
                reasons[reason] += count
        detail = histogram(reasons)
    else:
        detail = filtered.pre.status.message
    node_count = view.nodes.alive_count if among is None else int(in_question.sum())
    return nodes_available_message(node_count, detail) + (f" {post_filter_message}" if post_filter_message else "")


def nodes_available_message(node_count: int, detail: str) -> str:
    message = f"0/{node_count} nodes are available:"
    return f"{message} {detail}." if detail else message


def histogram(reasons: Mapping[str, int]) -> str:
    """Counts with their reasons, sorted as bytes: "10 x" stands before "2 y"."""
    return ", ".join(sorted((f"{count} {reason}" for reason, count in reasons.items()), key=str.encode))
