"""Pods that were popped and have not come back, and what has happened since.

While a pod is tried, the plugins that will reject it are not known yet, so nobody can say which cluster events it
should be woken by: all are recorded. When it comes back, those since its pop are judged as if it had been parked all
along. The list is cut only up to the oldest pod still in flight. Nothing is recorded while nobody is in flight.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import ClusterEvent
from bayplan.core.queue.queued_pod import QueuedPod, identity_of
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod


class InFlightEvent(NamedTuple):
    """A cluster event that happened while pods were tried, and the object before and after."""

    cluster_event: ClusterEvent
    old: Object | None
    new: Object | None


@dataclass(slots=True)
class _Flight:
    queued: QueuedPod
    position: int  # of the first cluster event after the pop, counted from the start of time
    newest: tuple[Pod, PodInfo] | None = None
    is_gone: bool = False


class InFlight:
    """Flights by uid, as a deleted pod may still be in flight when one of its name is created again.

    Most attempts end before anything else happens, so the pod that was popped last is listed only when something does.
    """

    def __init__(self) -> None:
        self.popped: QueuedPod | None = None
        """Nothing has happened since; to be read only, as are the flights."""
        self.flights: OrderedDict[str, _Flight] = OrderedDict()  # in order of pop, hence of position
        self._by_key: dict[str, list[_Flight]] = {}
        self._events: deque[InFlightEvent] = deque()
        self._cut = 0  # how many cluster events have been dropped from the front

    def __len__(self) -> int:
        return len(self.flights) + (self.popped is not None)

    @property
    def event_count(self) -> int:
        return len(self._events)

    def event_labels(self) -> Counter[str]:
        """How many of each cluster event are recorded, as metrics name them."""
        return Counter(event.cluster_event.label for event in list(self._events))

    def queued_pods(self) -> Iterator[QueuedPod]:
        yield from [flight.queued for flight in self.flights.values()]
        if self.popped is not None:
            yield self.popped

    def find(self, key: str) -> QueuedPod | None:
        """The pod of that name in flight; the latest one, and none that is gone."""
        if self.popped is not None and self.popped.key == key:
            return self.popped
        if not self.flights:
            return None
        for flight in reversed(self._by_key.get(key, ())):
            if not flight.is_gone:
                return flight.queued
        return None

    def start(self, queued: QueuedPod) -> None:
        if self.popped is not None:
            self._list_popped()
        self.popped = queued

    def note(self, cluster_event: ClusterEvent, old: Object | None, new: Object | None) -> None:
        """Something happened; of interest to some plugin."""
        self._list_popped()
        if self.flights:
            self._events.append(InFlightEvent(cluster_event, old, new))

    def update(self, pod: Pod, info: PodInfo) -> None:
        """The pod changed. The attempt goes on with what it has; the queued pod gets it on return."""
        self._list_popped()
        self.flights[identity_of(info)].newest = (pod, info)

    def mark_gone(self, key: str) -> None:
        self._list_popped()
        for flight in self._by_key.get(key, ()):
            flight.is_gone = True

    def is_gone(self, queued: QueuedPod) -> bool:
        flight = self.flights.get(identity_of(queued.info))
        return flight is not None and flight.is_gone

    def finish_undisturbed(self, queued: QueuedPod) -> bool:
        """Ends the flight if nothing at all has happened since the pop. Else the pod stays in flight."""
        if queued is not self.popped:
            return False
        self.popped = None
        return True

    def finish(self, queued: QueuedPod) -> Sequence[InFlightEvent] | None:
        """The pod is back, or on its way to be bound: what happened since its pop. None if it was not in flight."""
        if self.finish_undisturbed(queued):
            return ()
        flight = self.flights.pop(identity_of(queued.info), None)
        if flight is None:
            return None
        assert flight.queued is queued
        same_name = self._by_key[queued.key]
        same_name.remove(flight)
        if not same_name:
            del self._by_key[queued.key]
        since = list(islice(self._events, flight.position - self._cut, None)) if self._events else []
        if flight.newest is not None:
            queued.replace(*flight.newest)
        self._prune()
        return since

    def _list_popped(self) -> None:
        queued, self.popped = self.popped, None
        if queued is None:
            return
        identity = identity_of(queued.info)
        assert identity not in self.flights
        flight = self.flights[identity] = _Flight(queued, self._cut + len(self._events))
        self._by_key.setdefault(queued.key, []).append(flight)

    def _prune(self) -> None:
        if not self.flights:
            self._cut += len(self._events)
            self._events.clear()
            return
        oldest = next(iter(self.flights.values())).position
        while self._cut < oldest:
            self._events.popleft()
            self._cut += 1
