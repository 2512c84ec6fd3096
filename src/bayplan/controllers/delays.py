"""How long things take that no object says: the one source of chance for controllers.

`Delays` is what a controller asks, once for each thing it waits for; a simulated world answers from its seed.
`FixedDelays` gives every thing of a kind the same time. Times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.time_units import SECOND


class Delays(Protocol):
    """Durations, drawn again at each call."""

    def start_ns(self, pod: Pod) -> int:
        """From when the kubelet hears of the pod until it runs and is ready."""

    def stop_ns(self, pod: Pod) -> int:
        """From the request to stop until the pod's processes have ended, if they may take that long."""

    def provision_ns(self, claim: PersistentVolumeClaim) -> int:
        """Until a volume has been made for the claim."""


@dataclass(frozen=True, slots=True)
class FixedDelays:
    """Delays of the same length each time."""

    start: int = 2 * SECOND
    stop: int = SECOND
    provision: int = 3 * SECOND

    def start_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self.start

    def stop_ns(self, pod: Pod) -> int:  # noqa: ARG002
        return self.stop

    def provision_ns(self, claim: PersistentVolumeClaim) -> int:  # noqa: ARG002
        return self.provision
