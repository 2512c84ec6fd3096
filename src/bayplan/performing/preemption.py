"""The order of a preemption's writes: nominations that are withdrawn, then all victims but the last, then the last.

Takes the actions of a decision and what became of each; says which come next. If a victim could not be evicted the last
one is spared, and the preemptor, which will be tried again, learns why. Performs nothing.
Upstream: pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.actions import Action, ClearNomination, Evict


class PreemptionWrites:
    """The writes of one preemption, in stages: one begins when the one before is over."""

    def __init__(self, actions: Sequence[Action]) -> None:
        """Of these the evictions and the nominations that they withdraw."""
        withdrawn = [action for action in actions if isinstance(action, ClearNomination)]
        victims = [action for action in actions if isinstance(action, Evict)]
        stages: tuple[list[ClearNomination | Evict], ...] = ([*withdrawn], [*victims[:-1]], [*victims[-1:]])
        self.stages = [stage for stage in stages if stage]
        self._last = victims[-1] if victims else None
        self.error = ""
        """Of the first victim that could not be evicted."""

    def over(self, action: Action, error: str) -> None:
        """An action is done or has failed. A nomination that could not be withdrawn is no reason to stop."""
        if isinstance(action, Evict):
            self.error = self.error or error

    def spares(self, action: Action) -> bool:
        """Whether the action is not to be performed: the last victim, if another is still there."""
        return action is self._last and bool(self.error)
