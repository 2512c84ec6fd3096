"""Numbers that grow with every pod: counters, gauges and histograms by label values, rendered as Prometheus text.

prometheus-client's own are safe for threads and take a microsecond for each number, on the event loop for each of a
dozen numbers a pod, and fifty milliseconds for a page of all buckets. These are for one writer: an entry is appended to
a list, which is sorted into buckets when it is long or somebody asks, and what precedes a number is made once for each
series. A series appears with its first entry. A page may be made while another thread makes entries, as where extenders
are asked: what is gone through is copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from threading import Lock
from typing import NamedTuple

from bayplan.model.time_units import SECOND

Labels = tuple[str, ...]

#: Far above the error of a product of floats, far below a nanosecond.
_ROUNDING = 1e-6
#: Entries of one series that wait to be sorted into buckets.
_UNSORTED_MAX = 500


class Family(NamedTuple):
    """The name on the page, without the endings that its type adds."""

    name: str
    type: str  # counter, gauge or histogram
    help: str
    labels: Labels = ()
    buckets: tuple[float, ...] = ()  # without the last one, which has no bound

    def head(self) -> str:
        return f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.type}\n"

    def series(self, values: Labels, more: str = "", ending: str = "") -> str:
        """What precedes the number; `more` is a further label."""
        pairs = [f'{name}="{_escaped(value)}"' for name, value in zip(self.labels, values, strict=True)]
        text = ",".join([*pairs, more] if more else pairs)
        return f"{self.name}{ending}{{{text}}} " if text else f"{self.name}{ending} "


def number_text(number: float) -> str:
    """As upstream writes it: 1, 0.0001, 1e-05, +Inf."""
    return "+Inf" if number == inf else repr(float(number)).removesuffix(".0")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Counts:
    """A counter."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._series: dict[Labels, int] = {} if family.labels else {(): 0}
        self._texts: dict[Labels, str] = {}

    def add(self, values: Labels = (), by: int = 1) -> None:
        self._series[values] = self._series.get(values, 0) + by

    def lines(self) -> Iterator[str]:
        for values, number in list(self._series.items()):
            text = self._texts.get(values) or self._texts.setdefault(values, self.family.series(values))
            yield f"{text}{number}\n"


class Reading:
    """A gauge, or a counter that somebody else keeps: asked for when the page is made."""

    def __init__(self, family: Family, read: Callable[[], Mapping[Labels, float]]) -> None:
        self.family = family
        self._read = read
        self._seen: dict[Labels, str] = {}

    def lines(self) -> Iterator[str]:
        """Series that are not there any more are zero, as upstream shows them."""
        now = dict(self._read())
        for values in now:
            if values not in self._seen:
                self._seen[values] = self.family.series(values)
        for values, text in self._seen.items():
            yield f"{text}{number_text(now.get(values, 0))}\n"


class _Sorted:
    """A histogram's numbers under one set of labels."""

    __slots__ = ("grown", "texts", "total")

    def __init__(self, size: int, texts: list[str]) -> None:
        self.grown = [0] * size  # entries up to each bound, and all
        self.total = 0
        self.texts = texts

    def take(self, entries: list[int], bounds: Sequence[int]) -> None:
        entries.sort()
        for place, bound in enumerate(bounds):
            self.grown[place] += bisect_right(entries, bound)
        self.grown[-1] += len(entries)
        self.total += sum(entries)


class Durations:
    """A histogram. Entries are whole numbers of `unit`-ths: nanoseconds for seconds, or plain counts."""

    def __init__(self, family: Family, unit: int = SECOND) -> None:
        self.family = family
        self._unit = unit
        # Whole numbers are compared with whole numbers: faster than with others. The fraction makes up for rounding.
        self._bounds = [int(bound * unit + _ROUNDING) for bound in family.buckets]
        self._unsorted: dict[Labels, list[int]] = {}
        self._sorted: dict[Labels, _Sorted] = {}
        self._lock = Lock()
        if not family.labels:
            self._open(())

    def add(self, amount: int, values: Labels = ()) -> None:
        entries = self._unsorted.get(values)
        if entries is None:
            entries = self._open(values)
        entries.append(amount)
        if len(entries) >= _UNSORTED_MAX:
            self._sort(values)

    def counts(self) -> Mapping[Labels, float]:
        """The number of entries of each series."""
        return {values: self._sort(values).grown[-1] for values in list(self._unsorted)}

    def lines(self) -> Iterator[str]:
        for values in list(self._unsorted):
            series = self._sort(values)
            *texts, sum_text, count_text = series.texts
            yield from (f"{text}{count}\n" for text, count in zip(texts, series.grown, strict=True))
            yield f"{sum_text}{series.total / self._unit}\n{count_text}{series.grown[-1]}\n"

    def _open(self, values: Labels) -> list[int]:
        bounds = [number_text(bound) for bound in (*self.family.buckets, inf)]
        texts = [self.family.series(values, f'le="{bound}"', "_bucket") for bound in bounds]
        texts += [self.family.series(values, ending=ending) for ending in ("_sum", "_count")]
        self._sorted[values] = _Sorted(len(bounds), texts)
        return self._unsorted.setdefault(values, [])

    def _sort(self, values: Labels) -> _Sorted:
        """The series with all of its entries; meanwhile another thread may append some, or sort as well."""
        with self._lock:
            entries = self._unsorted[values][:]
            del self._unsorted[values][: len(entries)]
            series = self._sorted[values]
            series.take(entries, self._bounds)
            return series


Tally = Counts | Reading | Durations


def page(tallies: Iterable[Tally]) -> str:
    """The families in order of their names; those without any series do not appear."""
    parts: list[str] = []
    for tally in sorted(tallies, key=lambda tally: tally.family.name):
        lines = "".join(tally.lines())
        if lines:
            parts.append(tally.family.head() + lines)
    return "".join(parts)
