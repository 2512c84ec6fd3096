"""How long things take in a simulated world. Drawn from the seed, so that the same seed gives the same times."""

from __future__ import annotations

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
        self._random, self._jitter, self._api_ns = self.random.random, latencies.jitter, latencies.api_ns

    def api(self) -> int:
        jitter, typical = self._jitter, self._api_ns  # as below, for those who draw most
        return int(typical * (1 + jitter * (2 * self._random() - 1))) if jitter and typical else typical

    def eviction(self) -> int:
        return self._around(self.latencies.eviction_ns)

    def watch(self) -> int:
        return self._around(self.latencies.watch_ns)

    def start_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self._around(self.latencies.pod_start_ns)

    def stop_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self._around(self.latencies.pod_stop_ns)

    def provision_ns(self, claim: PersistentVolumeClaim) -> int:  # noqa: ARG002
        return self._around(self.latencies.provision_ns)

    def _around(self, typical: int) -> int:
        jitter = self._jitter
        if not jitter or not typical:
            return typical
        return int(typical * (1 + jitter * (2 * self._random() - 1)))
