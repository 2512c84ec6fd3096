"""Traces: `openb:DIR`, `csv:FILE` or `azure:FILE` in; nodes, priority classes and pods with their times out.

The whole trace is read and checked first, so that every malformed line is reported with file and line. It can be
thinned out (`shrink`), slowed down (`stretch`), played several times (`repeat`) and replayed without departures.
Nothing is random: the same arguments give the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Final, TypeAlias

from bayplan.analysis.simulation.inputs.azure import read_azure
from bayplan.analysis.simulation.inputs.csv_trace import read_csv
from bayplan.analysis.simulation.inputs.openb import read_openb
from bayplan.analysis.simulation.inputs.recorded_trace import Pattern, RecordedArrival, Recording
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.fingerprint import digest
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod

TraceArrival: TypeAlias = tuple[float, Pod, float | None]
"""Seconds from the start, the pod as a client would send it, and how long it runs (None: until it is deleted)."""

FORMS: Final = "openb:DIR, csv:FILE or azure:FILE"
REPEAT_MAX: Final = 10_000


class Arrivals:
    """The arriving pods, in order of time; each is created on demand, so that iterating twice gives new ones."""

    def __init__(self, recorded: list[RecordedArrival], stretch: float, repeat: int, departures: bool) -> None:
        self._recorded = recorded
        self._stretch = stretch
        self._repeat = repeat
        self._departures = departures
        self._span = _span(recorded)

    def __len__(self) -> int:
        return len(self._recorded) * self._repeat

    def __iter__(self) -> Iterator[TraceArrival]:
        # Who takes the pods completes them in place, and the trace may be played again.
        recorded_patterns = {id(arrival.pattern): arrival.pattern for arrival in self._recorded}
        patterns = {key: deepcopy(pattern) for key, pattern in recorded_patterns.items()}
        for turn in range(self._repeat):
            for recorded in self._recorded:
                run_seconds = self._run_seconds(recorded)
                name = f"{recorded.name}-r{turn + 1}" if turn else recorded.name
                seconds = (recorded.seconds + turn * self._span) * self._stretch
                yield seconds, patterns[id(recorded.pattern)].pod(name, run_seconds), run_seconds

    @property
    def last_seconds(self) -> float:
        """When the last pod arrives; 0 if there is none."""
        if not self._recorded:
            return 0.0
        return (self._recorded[-1].seconds + (self._repeat - 1) * self._span) * self._stretch

    def digest(self) -> bytes:
        """Equal for equal arrivals; found without making their pods."""
        numbers: dict[int, int] = {}
        patterns: list[Pattern] = []
        recorded = []
        for arrival in self._recorded:
            number = numbers.setdefault(id(arrival.pattern), len(patterns))
            if number == len(patterns):
                patterns.append(arrival.pattern)
            recorded.append((arrival.seconds, arrival.run_seconds, arrival.name, number))
        return digest((recorded, patterns, self._stretch, self._repeat, self._departures))

    def _run_seconds(self, recorded: RecordedArrival) -> float | None:
        if not self._departures or recorded.run_seconds is None:
            return None
        return recorded.run_seconds * self._stretch


@dataclass(frozen=True, slots=True)
class Trace:
    """What a trace brings to a simulation."""

    nodes: list[Node]
    arrivals: Arrivals
    classes: list[PriorityClass]
    classes_elsewhere: dict[str, str] = field(default_factory=dict)

    def joined_to(self, given: Iterable[Object]) -> list[Object]:
        """The given objects, then nodes and classes of the trace that they do not define. Raises InvalidObject."""
        objects = list(given)
        named = {(type(obj).__name__, obj.metadata.name) for obj in objects}
        self.check_classes([name for kind, name in named if kind == PriorityClass.__name__])
        brought: list[Object] = [*self.classes, *self.nodes]
        return [*objects, *(obj for obj in brought if (type(obj).__name__, obj.metadata.name) not in named)]

    def check_classes(self, known: Collection[str]) -> None:
        """Raises InvalidObject, with file and line, if a pod names a class that neither the trace nor `known` has."""
        faults = [
            Fault(where, "", "class", f"no PriorityClass {name}; add one, or a `priority` column")
            for name, where in self.classes_elsewhere.items()
            if name not in known
        ]
        if faults:
            raise InvalidObject(faults)


def load_trace(
    spec: str,
    *,
    shrink: float = 1.0,
    stretch: float = 1.0,
    repeat: int = 1,
    departures: bool = True,
    nodes: int | None = None,
    qos_priority: bool = True,
) -> Trace:
    """Reads a trace. Raises InvalidObject.

    Args:
        spec: `openb:DIR`, `openb:POD_LIST_FILE`, `csv:FILE` or `azure:FILE`; a file may end in `.gz`.
        shrink: the share of the arrivals to keep, evenly from the first to the last.
        stretch: times, both of arrival and of running, are multiplied by this: 2 plays at half the speed.
        repeat: how often the trace is played; each time follows the one before as closely as arrivals ever do.
        departures: False leaves every pod running.
        nodes: how many of the trace's nodes to take, evenly from the first to the last; None: all.
        qos_priority: whether openb's QoS classes become priority classes.
    """
    _check_options(shrink, stretch, repeat)
    recording = _read(spec, qos_priority=qos_priority)
    recorded = sorted(recording.arrivals, key=lambda arrival: arrival.seconds)  # stable: equal times stay in order
    kept = [arrival for place, arrival in enumerate(recorded) if int((place + 1) * shrink) > int(place * shrink)]
    return Trace(
        nodes=_some(recording.nodes, nodes, spec),
        arrivals=Arrivals(kept, stretch, repeat, departures),
        classes=recording.classes,
        classes_elsewhere=recording.classes_elsewhere,
    )


def _read(spec: str, *, qos_priority: bool) -> Recording:
    kind, _, place = spec.partition(":")
    readers: dict[str, Callable[[Path], Recording]] = {
        "openb": partial(read_openb, qos_priority=qos_priority),
        "csv": read_csv,
        "azure": read_azure,
    }
    if not place or kind not in readers:
        raise InvalidObject([Fault("", "", "trace", f"expected {FORMS}, not {spec!r}")])
    return readers[kind](Path(place))


def _check_options(shrink: float, stretch: float, repeat: int) -> None:
    faults = []
    if not 0 < shrink <= 1:
        faults.append(Fault("", "", "shrink", f"must be greater than 0 and at most 1, not {shrink}"))
    if not (isfinite(stretch) and stretch > 0):
        faults.append(Fault("", "", "stretch", f"must be greater than 0, not {stretch}"))
    if not 1 <= repeat <= REPEAT_MAX:
        faults.append(Fault("", "", "repeat", f"must be between 1 and {REPEAT_MAX}, not {repeat}"))
    if faults:
        raise InvalidObject(faults)


def _some(nodes: list[Node], count: int | None, spec: str) -> list[Node]:
    if count is None:
        return nodes
    if not 0 <= count <= len(nodes):
        raise InvalidObject([Fault(spec, "", "nodes", f"must be between 0 and {len(nodes)}, not {count}")])
    return [nodes[place * len(nodes) // count] for place in range(count)]


def _span(recorded: list[RecordedArrival]) -> float:
    """After how many seconds the trace may start over: the smallest step between arrivals after the last one."""
    if not recorded:
        return 0.0
    times = sorted({arrival.seconds for arrival in recorded})
    step = min((later - earlier for earlier, later in pairwise(times)), default=0.0)
    return times[-1] + step
