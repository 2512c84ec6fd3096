"""The order of a preemption's writes: nominations that are withdrawn, then all victims but the last, then the last.

Takes a preemption's actions and how one is performed; starts each stage when the one before is over. If a victim could
not be evicted the last one is spared, and the preemptor, which will be tried again, learns why.
Upstream: pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from bayplan.core.actions import ClearNomination, Evict

Perform: TypeAlias = Callable[[ClearNomination | Evict, Callable[[str], None]], None]
"""Performs an action, and then calls with the error, if there was one."""


class Preemption:
    """One preemption's writes on their way."""

    def __init__(self, perform: Perform, refuse: Callable[[Evict, str], None]) -> None:
        """`refuse` answers an eviction that is not performed."""
        self._perform = perform
        self._refuse = refuse
        self._stages: list[Sequence[ClearNomination | Evict]] = []
        self._outstanding = 0
        self._error = ""

    def start(self, withdrawn: Sequence[ClearNomination], victims: Sequence[Evict]) -> None:
        """Begin; there is at least one victim."""
        self._stages = [stage for stage in (withdrawn, victims[:-1], victims[-1:]) if stage]
        self._begin_stage()

    def _begin_stage(self) -> None:
        stage = self._stages.pop(0)
        self._outstanding = len(stage)
        for action in stage:
            is_victim = isinstance(action, Evict)
            self._perform(action, self._victim_done if is_victim else self._withdrawn_done)

    def _victim_done(self, error: str) -> None:
        self._error = self._error or error
        self._withdrawn_done("")

    def _withdrawn_done(self, _: str) -> None:
        # A nomination that could not be withdrawn is no reason to stop.
        self._outstanding -= 1
        if self._outstanding or not self._stages:
            return
        if not self._error:
            self._begin_stage()
            return
        for stage in self._stages:
            for action in stage:
                if isinstance(action, Evict):
                    self._refuse(action, self._error)
