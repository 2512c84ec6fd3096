"""The figures of many runs in little memory: runs that have the same ones share their names.

Takes the outcome of a run as an engine gives it; gives one that is equal, in a tenth of the memory, for whoever keeps
all of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

import msgspec

from bayplan.analysis.sweeping.runs import RunOutcome

#: By the names that a run has figures for: where each of them is.
_PLACES: dict[tuple[str, ...], dict[str, int]] = {}


class KeptFigures(Mapping[str, float]):
    """Figures by name, as a dict has them."""

    __slots__ = ("_places", "_values")

    def __init__(self, figures: Mapping[str, float]) -> None:
        names = tuple(figures)
        if names not in _PLACES:
            _PLACES[names] = {name: place for place, name in enumerate(names)}
        self._places = _PLACES[names]
        self._values = array("d", figures.values())

    def __getitem__(self, name: str) -> float:
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[type[KeptFigures], tuple[dict[str, float]]]:
        return KeptFigures, (dict(self),)


def kept(outcome: RunOutcome) -> RunOutcome:
    """The outcome, to be kept."""
    return msgspec.structs.replace(outcome, figures=KeptFigures(outcome.figures))
