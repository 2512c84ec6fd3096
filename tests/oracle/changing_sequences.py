"""Random sequences of steps for `changing_clusters`, each with an emphasis of its own.

A sequence is a list of steps; the steps that ask for a decision are named here. What a step does is said there.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tests.oracle.changing_clusters import PATTERNS, Step
from tests.oracle.changing_objects import FAMILIES, MAKERS

DECIDE, AGAIN, RETRY = "decide", "again", "retry"  # again: on one more pod like the last; retry: on a nominated one

#: How often each kind of step is drawn.
_KINDS = (
    *(DECIDE,) * 10,
    *(AGAIN,) * 8,
    *(RETRY,) * 2,
    *("run",) * 5,
    *("remove",) * 4,
    *("change",) * 2,
    *("budget",) * 2,
    *("touch", "service", "volumes", "remove node", "mention", "put"),
    *("nominate",) * 2,
    *("node",) * 3,
)
_NUMBERS = st.integers(0, len(PATTERNS) - 1)
STEPS = st.tuples(st.sampled_from(_KINDS), _NUMBERS, _NUMBERS, _NUMBERS)
SEQUENCES = st.lists(STEPS, min_size=20, max_size=60)

#: Nodes change all the time while a few kinds of pods are placed, so that what is known outlasts most changes.
_RELABELING_KINDS = (
    *(DECIDE,) * 6,
    *(AGAIN,) * 6,
    *("node",) * 8,
    *("run",) * 2,
    *("remove", "nominate", "touch", "remove node", "budget", RETRY),
)
_COMMON_PATTERNS = st.sampled_from((0, 0, 1, 2, 4, 7, 9, 11, 14, 15, 16, 16, 18, 19, 23))
_RELABELING_STEPS = st.tuples(st.sampled_from(_RELABELING_KINDS), _COMMON_PATTERNS, _NUMBERS, _NUMBERS)
RELABELING_SEQUENCES = st.lists(_RELABELING_STEPS, min_size=20, max_size=60)

#: Nodes join and leave all the time, and pods name nodes that nobody has seen.
_SCALING_KINDS = (
    *(DECIDE,) * 5,
    *(AGAIN,) * 7,
    *("node",) * 5,
    *("remove node",) * 4,
    *("run",) * 4,
    *("remove",) * 3,
    *("nominate", "budget", RETRY),
)
_SCALING_STEPS = st.tuples(st.sampled_from(_SCALING_KINDS), _COMMON_PATTERNS, _NUMBERS, _NUMBERS)
#: One node has an image, which counts by how many nodes there are.
SCALING_SEQUENCES = st.lists(_SCALING_STEPS, min_size=20, max_size=60).map(lambda steps: [("node", 0, 5, 5), *steps])

#: Pods that ask for much and are tried again and again, while others are nominated and little else happens.
_WAITING_KINDS = (
    *(DECIDE,) * 5,
    *(AGAIN,) * 10,
    *(RETRY,) * 4,
    *("nominate",) * 5,
    *("run", "remove", "change", "budget", "touch", "node", "remove node", "service"),
)
_LARGE_PATTERNS = st.sampled_from((1, 2, 2, 5, 15, 20, 20, 23, 24, 25, 26, 27, 28, 29))
_WAITING_STEPS = st.tuples(st.sampled_from(_WAITING_KINDS), _LARGE_PATTERNS, _NUMBERS, _NUMBERS)
#: Three pods that leave little room anywhere, then the rest.
WAITING_SEQUENCES = st.lists(_WAITING_STEPS, min_size=15, max_size=50).map(
    lambda steps: [("run", 2, 0, 0), ("run", 1, 1, 1), ("run", 1, 1, 2), *steps]
)


#: Pods that look at others and are important, on nodes that are full; who may be evicted, and who counts, changes.
_PREEMPTING_KINDS = (
    *(DECIDE,) * 8,
    *(AGAIN,) * 12,
    *(RETRY,) * 2,
    *("nominate",) * 3,
    *("run",) * 5,
    *("remove", "change", "budget") * 2,
    *("node", "remove node", "service", "namespace"),
)
_LOOKING_PATTERNS = st.sampled_from((7, 8, 10, 11, 12, 13, 13, *range(30, 35), *range(30, 35), 0))
_PREEMPTING_STEPS = st.tuples(st.sampled_from(_PREEMPTING_KINDS), _LOOKING_PATTERNS, _NUMBERS, _NUMBERS)
PREEMPTING_SEQUENCES = st.lists(_PREEMPTING_STEPS, min_size=15, max_size=50).map(
    lambda steps: [*(("node", number, 4, number % 3) for number in range(4)), ("run", 2, 0, 2), *steps]
)


#: Objects of a family come, change and go while pods that depend on them are placed, most of them alike.
_FURNISHING_KINDS = (
    *(DECIDE,) * 3,
    *(AGAIN,) * 12,
    *("remove object",) * 2,
    *("run", "remove", "node", "mention", "remove node", "nominate", RETRY),
)


def _furnishing_sequences(number: int) -> st.SearchStrategy[list[Step]]:
    family = FAMILIES[number]
    kinds = st.sampled_from([list(MAKERS).index(kind) for kind in family.makers])
    patterns = [PATTERNS.index(pattern) for pattern in family.patterns]
    steps = st.tuples(st.sampled_from(_FURNISHING_KINDS), st.sampled_from(patterns), _NUMBERS, _NUMBERS)
    puts = st.tuples(st.just("put"), kinds, st.integers(0, 1) | _NUMBERS, _NUMBERS)
    return st.lists(st.one_of(steps, steps, puts), min_size=20, max_size=50).map(
        lambda drawn: [("furnish", number, 0, 0), (DECIDE, patterns[0], 0, 1), *drawn]
    )


FURNISHING_SEQUENCES = st.one_of(*map(_furnishing_sequences, range(len(FAMILIES))))

#: Every kind of step that some sequence has.
DRAWN_KINDS = {
    *(*_KINDS, *_RELABELING_KINDS, *_WAITING_KINDS, *_PREEMPTING_KINDS, *_FURNISHING_KINDS),
    *("furnish", "put"),  # which sequences with objects have besides
}
