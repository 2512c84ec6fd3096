"""How long things take in a simulated world. Drawn from the seed, so that the same seed gives the same times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.time_units import MICROSECOND, MILLISECOND, SECOND


@dataclass(frozen=True, slots=True)
class Latencies:
    """Typical times in nanoseconds; each draw lies within `jitter` of them, as a share."""

    decision_ns: int = 100 * MICROSECOND  # one scheduling cycle; cycles never overlap
    api_ns: int = 2 * MILLISECOND  # from an action to its effect, and from the effect to its answer
    eviction_ns: int = 6 * MILLISECOND  # as api_ns, of an eviction: a condition, its answer, and then the delete
    watch_ns: int = 2 * MILLISECOND  # from an effect to the scheduler hearing of it
    pod_start_ns: int = 1 * SECOND
    pod_stop_ns: int = 1 * SECOND
    provision_ns: int = 3 * SECOND
    jitter: float = 0.5


class Draws:
    """Seeded delays, for the world and for its controllers."""

    def __init__(self, seed: int, latencies: Latencies) -> None:
        self.latencies = latencies
        self.random = Random(seed)
        self._api = self._draws_around(latencies.api_ns)
        self._eviction = self._draws_around(latencies.eviction_ns)
        self._watch = self._draws_around(latencies.watch_ns)
        self._start = self._draws_around(latencies.pod_start_ns)
        self._stop = self._draws_around(latencies.pod_stop_ns)
        self._provision = self._draws_around(latencies.provision_ns)

    def api(self) -> int:
        """How long a request takes."""
        return self._api()

    def skip_api(self) -> None:
        """Draw what `api` would, for a time that does not matter."""
        if self.latencies.jitter and self.latencies.api_ns:
            self.random.random()

    def eviction(self) -> int:
        """How long it takes to evict a pod."""
        return self._eviction()

    def watch(self) -> int:
        """How long it takes until the scheduler hears of a change."""
        return self._watch()

    def start_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self._start()

    def stop_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self._stop()

    def provision_ns(self, claim: PersistentVolumeClaim) -> int:  # noqa: ARG002
        return self._provision()

    def around(self, typical: int) -> int:
        """A time for what typically takes so long."""
        return self._draws_around(typical)()

    def _draws_around(self, typical: int) -> Callable[[], int]:
        random, jitter = self.random.random, self.latencies.jitter
        if not jitter or not typical:
            return lambda: typical
        middle = float(typical)  # calculating with floats alone is quicker, and gives the same
        return lambda: int(middle * (1.0 + jitter * (2.0 * random() - 1.0)))
