"""Three plugins that do more than filter and score, one for each of Permit, PostFilter and PreBind.

`Together` holds pods back until enough of them have a node, `Replacement` puts a pod in the place of another one, and
`ServiceFirst` binds a pod when its Service exists. The guide docs/guide/plugins.md walks through them; scheduler.yaml
enables all three, cluster.yaml and story.yaml have something for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bayplan.plugin import (
    SUCCESS,
    ActionType,
    AssumedPod,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    Failure,
    Pending,
    Pod,
    PodInfo,
    PostFiltered,
    Proposal,
    Status,
    View,
    Wait,
    WaitingPod,
    row_array,
    unschedulable,
)

SECOND = 1_000_000_000


class Together:
    """Pods with the same label `together` are bound once as many of them have a node as `together-size` says."""

    name: ClassVar[str] = "Together"
    looks_up: ClassVar[frozenset[str]] = frozenset()

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        return SUCCESS if self._is_complete(pod, view) else Wait(timeout_ns=60 * SECOND)

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> Mapping[str, Status]:
        return {each.pod.key: SUCCESS for each in waiting if self._is_complete(each.pod, view)}

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.ADD), self._may_complete),)

    def _is_complete(self, pod: PodInfo, view: View) -> bool:
        labels = pod.shape.labels
        if "together" not in labels:
            return True
        team = (pod.namespace, labels["together"])
        placed = [view.pods.shapes[row] for row in (view.pods.node_rows >= 0).nonzero()[0]]
        there = [shape for shape in placed if shape and (shape.namespace, shape.labels.get("together")) == team]
        return len(there) >= int(labels.get("together-size", "1"))

    def _may_complete(self, pod: PodInfo, old: Pod | None, new: Pod) -> bool:
        return new.metadata.labels.get("together") == pod.shape.labels.get("together")


class Replacement:
    """A pod that fits nowhere takes the place of the pod that its label `replaces` names, whatever its priority."""

    name: ClassVar[str] = "Replacement"
    looks_up: ClassVar[frozenset[str]] = frozenset()

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        replaced = pod.shape.labels.get("replaces")
        row = view.pods.rows_by_key.get(f"{pod.namespace}/{replaced}")
        if row is None or view.pods.node_rows[row] < 0:
            return PostFiltered(unschedulable())
        node_row, victims = int(view.pods.node_rows[row]), row_array([row])
        if not failure.fits_without(node_row, victims):
            return PostFiltered(unschedulable(f"replacing {replaced} would not make enough room"))
        return PostFiltered(SUCCESS, Proposal(node_row, victims))


class ServiceFirst:
    """A pod with the label `needs-service` is bound when there is a Service of that name."""

    name: ClassVar[str] = "ServiceFirst"
    looks_up: ClassVar[frozenset[str]] = frozenset({"Service"})

    def pre_bind_pre_flight(self, pod: PodInfo) -> bool:
        return "needs-service" in pod.shape.labels

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status | Pending:
        if (pod.namespace, pod.shape.labels["needs-service"]) in view.objects.services:
            return SUCCESS
        return Pending(until=placement.asked_at + 120 * SECOND, kinds=frozenset({"Service"}))
