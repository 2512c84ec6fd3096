"""Free volumes, arranged so that the best one for a claim is found without looking at all.

Takes volumes as they become free or not; gives for a claim the one that Kubernetes' volume controller would take: of
those with the fewest access modes that suffice the smallest one, of equals the one that came first. Volumes kept
for a claim are not here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeAlias

from bayplan.core.plugins.volume_claims import class_of_claim, class_of_volume, nano_amount
from bayplan.core.plugins.volume_matching import FILESYSTEM
from bayplan.model.selectors import CompiledSelector, compile_label_selector
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

_Modes: TypeAlias = tuple[str, ...]
_Sort: TypeAlias = tuple[str, str, str]
"""Storage class, volume mode, volume attributes class."""
_Place: TypeAlias = tuple[int, int, str]
"""Capacity, number of arrival, name."""


class FreeVolumes:
    """Volumes of each sort by access modes, the smallest first."""

    def __init__(self) -> None:
        self._by_sort: dict[_Sort, dict[_Modes, list[_Place]]] = {}
        self._places: dict[str, tuple[_Sort, _Modes, _Place, PersistentVolume]] = {}
        self._numbers = count()

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def put(self, volume: PersistentVolume) -> None:
        """Takes in a free volume, or what has become of it."""
        name = volume.metadata.name
        known = self._places.get(name)
        number = next(self._numbers) if known is None else known[2][1]
        self.take(name)
        sort, modes = _sort_of_volume(volume), tuple(sorted(set(volume.spec.access_modes)))
        place = nano_amount(volume.spec.capacity), number, name
        insort(self._by_sort.setdefault(sort, {}).setdefault(modes, []), place)
        self._places[name] = sort, modes, place, volume

    def take(self, name: str) -> None:
        """Lets go of the volume if it is here."""
        found = self._places.pop(name, None)
        if found is None:
            return
        sort, modes, place, _ = found
        volumes = self._by_sort[sort][modes]
        del volumes[bisect_left(volumes, place)]
        if not volumes:
            del self._by_sort[sort][modes]
            if not self._by_sort[sort]:
                del self._by_sort[sort]

    def best_for(self, claim: PersistentVolumeClaim) -> str | None:
        """The name of the volume the claim gets; None if there is none. Raises SelectorError."""
        selector = (
            CompiledSelector.EVERYTHING if claim.spec.selector is None else compile_label_selector(claim.spec.selector)
        )
        wanted = (nano_amount(claim.spec.resources.requests), -1, "")
        for volumes in self._suitable(_sort_of_claim(claim), claim.spec.access_modes):
            for position in range(bisect_left(volumes, wanted), len(volumes)):
                name = volumes[position][2]
                if selector.matches(self._places[name][3].metadata.labels):
                    return name
        return None

    def _suitable(self, sort: _Sort, modes: Iterable[str]) -> Iterator[list[_Place]]:
        asked = set(modes)
        by_modes = self._by_sort.get(sort, {})
        enough = [offered for offered in by_modes if asked.issubset(offered)]
        for offered in sorted(enough, key=lambda modes: (len(modes), modes)):
            yield by_modes[offered]


def _sort_of_volume(volume: PersistentVolume) -> _Sort:
    spec = volume.spec
    return class_of_volume(volume), spec.volume_mode or FILESYSTEM, spec.volume_attributes_class_name or ""


def _sort_of_claim(claim: PersistentVolumeClaim) -> _Sort:
    spec = claim.spec
    return class_of_claim(claim), spec.volume_mode or FILESYSTEM, spec.volume_attributes_class_name or ""
