"""Who waits for whose eviction.

A preemptor is kept out of the queue while its evictions are under way. Two preemptors in quick succession may choose
the same victim; it is evicted once, and both wait for the answer. Upstream patches and deletes such a pod twice.
"""

from __future__ import annotations


class Evictions:
    """Evictions that were asked for and not answered yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}  # victim uid -> preemptors, in order of asking
        self._outstanding: dict[str, int] = {}  # preemptor -> evictions it waits for

    def is_preempting(self, preemptor: str) -> bool:
        """Whether a preemptor waits for evictions; asked each time that any pod comes into the queue."""
        return preemptor in self._outstanding

    def is_asked(self, victim_uid: str) -> bool:
        """Whether some preemptor waits for that victim already; asked each time that any pod goes."""
        return victim_uid in self._waiting

    def ask(self, preemptor: str, victim_uid: str) -> bool:
        """Note that the preemptor waits for the victim; whether the eviction has to be ordered (nobody else did)."""
        waiting = self._waiting.get(victim_uid)
        self._outstanding[preemptor] = self._outstanding.get(preemptor, 0) + 1
        if waiting is not None:
            waiting.append(preemptor)
            return False
        self._waiting[victim_uid] = [preemptor]
        return True

    def answer(self, victim_uid: str) -> tuple[list[str], list[str]]:
        """The eviction is over: all who waited for it, and those of them who now wait for nothing more."""
        waited = self._waiting.pop(victim_uid, None)
        if waited is None:
            return [], []
        freed = []
        for preemptor in waited:
            self._outstanding[preemptor] -= 1
            if not self._outstanding[preemptor]:
                del self._outstanding[preemptor]
                freed.append(preemptor)
        return waited, freed

    def __len__(self) -> int:
        return len(self._waiting)
