"""DynamicResources: behaves as upstream's plugin does for pods that claim no devices.

Such a pod is skipped by the filter and scores 0 everywhere. Devices are not allocated here yet: a pod with resource
claims is turned away with a sentence that says so, rather than placed where its devices may not be.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DynamicResourcesArgs
from bayplan.core.framework.contract import SKIP, PreFiltered, Reads, default_normalize
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Status, unresolvable
from bayplan.core.plugins.requeue_rules import after_own_update, on
from bayplan.core.snapshot import View
from bayplan.model.pod import PodSpec

#: What its part in PostFilter answers when the pod has no claims.
NO_CLAIMS_REASON = "no new claims to deallocate"


class DynamicResources:
    """Filter and score; neither changes anything for a pod without claims."""

    name: ClassVar[str] = "DynamicResources"
    reads: ClassVar[Reads] = Reads.NODE
    score_reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: DynamicResourcesArgs | None = None) -> None:
        self._args = args or DynamicResourcesArgs()

    def pre_enqueue(self, pod: PodInfo) -> Status:  # noqa: ARG002
        # A pod with claims is let in: the attempt that turns it away is what tells its owner why.
        return SUCCESS

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.spec.resource_claims)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:  # noqa: ARG002
        return unresolvable(not_supported(pod.spec)) if pod.spec.resource_claims else SKIP

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        """Reached only in a profile that leaves out pre_filter."""
        return np.full(view.nodes.count, int(bool(state.spec.resource_claims)), dtype=np.int64)[rows]

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(not_supported(state.spec))

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:  # noqa: ARG002
        return np.zeros(len(rows), dtype=np.int64)

    def normalize(self, state: object, scores: IntArray, rows: RowArray) -> IntArray:  # noqa: ARG002
        return default_normalize(scores, reverse=False)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        # Claims are not among the objects known here. Where upstream looks at them (which claim it is, what its
        # status says, whether all claims of the pod exist) these say that a new attempt is worth it.
        nodes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        return (
            on(EventResource.NODE, nodes),
            on(EventResource.RESOURCE_CLAIM, ActionType.ADD | ActionType.UPDATE),
            on(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, after_own_update),
            on(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE),
            on(EventResource.RESOURCE_SLICE, ActionType.ADD | ActionType.UPDATE),
        )


def not_supported(spec: PodSpec) -> str:
    names = ", ".join(claim.name for claim in spec.resource_claims)
    return f"pods with resource claims are not supported yet (spec.resourceClaims: {names})"
