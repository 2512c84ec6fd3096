"""Which changes make a pod's outcome another one, found by deciding again with some of the changes and not the others.

Most differences have a single cause: the one change that, made alone, gives the new outcome. Otherwise it is a smallest
set of changes that together do: without any of them the outcome would not be the new one. No cause is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bayplan.analysis.answers.upgrading.changes import VersionChange
from bayplan.analysis.answers.upgrading.outcomes import Outcomes, VersionOutcome

#: Makes the scheduler that has these changes, by field, and no others.
MakeOutcomes = Callable[[frozenset[str]], Outcomes]


def find_causes(
    wanted: Mapping[str, VersionOutcome], changes: Sequence[VersionChange], make: MakeOutcomes
) -> dict[str, tuple[VersionChange, ...]]:
    """The causes of each of these outcomes, by pod."""
    found: dict[str, tuple[VersionChange, ...]] = {}
    left = dict(wanted)
    for change in changes:
        if not left:
            return found
        outcomes = make(frozenset({change.field}))
        for key in [key for key, outcome in left.items() if outcomes.of(key) == outcome]:
            found[key] = (change,)
            del left[key]
    return found | _several_causes(left, changes, make)


def _several_causes(
    wanted: Mapping[str, VersionOutcome], changes: Sequence[VersionChange], make: MakeOutcomes
) -> dict[str, tuple[VersionChange, ...]]:
    """All changes give the outcome; one after another is left out where that makes no difference."""
    needed = dict.fromkeys(wanted, frozenset(change.field for change in changes))
    for change in changes if wanted else ():
        for fields in set(needed.values()):
            outcomes = make(fields - {change.field})
            for key in [key for key, others in needed.items() if others == fields]:
                if outcomes.of(key) == wanted[key]:
                    needed[key] = fields - {change.field}
    return {key: tuple(change for change in changes if change.field in fields) for key, fields in needed.items()}
