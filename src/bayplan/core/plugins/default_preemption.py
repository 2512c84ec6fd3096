"""DefaultPreemption: pods of lower priority leave a node so that a pod fits that fits nowhere.

Takes an attempt that failed; gives what the preemption of the core found (`bayplan.core.preemption`). Looks for nothing
itself, and does not keep a preemptor waiting while its victims are evicted: that is `preemption/gate.py`.
Upstream: plugins/defaultpreemption/default_preemption.go (v1.36).
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.contract import (
    Failure,
    PostFiltered,
)
from bayplan.core.framework.group_contract import GroupFailure, PodGroupPostFiltered
from bayplan.core.snapshot import View


class DefaultPreemption:
    """Asks the core to preempt."""

    name: ClassVar[str] = DEFAULT_PREEMPTION
    looks_up: ClassVar[frozenset[str]] = frozenset({"PodDisruptionBudget"})
    sees_shape_only: ClassVar[bool] = True

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:  # noqa: ARG002
        return failure.preempt()

    def pod_group_post_filter(self, failure: GroupFailure) -> PodGroupPostFiltered:
        return failure.preempt()
