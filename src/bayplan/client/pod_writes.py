"""Pods bound, patched and deleted: the requests for one action each, in upstream's words.

Takes an action and the pod as it is known; returns when it is done. Raises `RefusedError` for what the server refuses,
`LostError` or `NotSentError` for what has no answer. When a write comes before another is not decided here.
"""

from __future__ import annotations

import msgspec

from bayplan.client.contract import Response
from bayplan.client.known_pods import KnownPods
from bayplan.client.lanes import Lane
from bayplan.client.patches import failure_patch, nomination_patch, victim_patch
from bayplan.client.refusals import message_of
from bayplan.client.sending import CONFLICT, NOT_FOUND, RefusedError, Sender
from bayplan.core.actions import Bind, ClearNomination, Evict, Nominate, SetCondition
from bayplan.model.media_types import JSON, STRATEGIC_MERGE_PATCH
from bayplan.model.structs import Struct


class _Meta(Struct):
    name: str
    namespace: str
    uid: str


class _Target(Struct):
    kind: str
    name: str


class _Binding(Struct):
    kind: str
    apiVersion: str  # noqa: N815
    metadata: _Meta
    target: _Target


_encode = msgspec.json.Encoder().encode


def pod_path(key: str) -> str:
    """Where the pod is, by `namespace/name`."""
    namespace, _, name = key.partition("/")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


class PodWrites:
    """Writes pods."""

    def __init__(self, sender: Sender, pods: KnownPods) -> None:
        self._sender = sender
        self._pods = pods

    async def bind(self, action: Bind) -> None:
        """Give the pod its node. That it is there already counts: an earlier request had done it."""
        namespace, _, name = action.pod.partition("/")
        meta = _Meta(name, namespace, action.uid)
        body = _encode(_Binding("Binding", "v1", meta, _Target("Node", action.node)))
        response = await self._sender.send(Lane.BINDINGS, "POST", f"{pod_path(action.pod)}/binding", body)
        if not response.ok and not _is_there(response, action.node):
            raise RefusedError(response)
        self._pods.forget(action.pod)

    async def set_condition(self, action: SetCondition, now: int) -> None:
        """PodScheduled=False, unless the pod says so already, is gone or is another by now."""
        pod = self._pods.find(action.pod)
        if pod is not None and pod.metadata.uid == action.uid:
            await self._patch(action.pod, failure_patch(pod, action, now))

    async def nominate(self, action: Nominate | ClearNomination) -> None:
        """Write the node that the pod waits for, or take it back."""
        pod = self._pods.find(action.pod)
        if pod is not None:
            node = action.node if isinstance(action, Nominate) else ""
            await self._patch(action.pod, nomination_patch(pod, node))

    async def evict(self, action: Evict, now: int) -> bool:
        """Mark the pod and delete it; whether it was there to be deleted."""
        pod = self._pods.find(action.pod)
        if pod is None or pod.metadata.uid != action.uid or pod.metadata.deletion_timestamp is not None:
            return False
        try:
            await self._patch(action.pod, victim_patch(pod, action, now))
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return False
            raise
        return await self._delete(action)

    async def _delete(self, action: Evict) -> bool:
        # Upstream has no precondition, and would delete another pod that has got the name in the meantime.
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": action.uid}}
        path, body = pod_path(action.pod), _encode(options)
        response = await self._sender.send_again(Lane.STATUSES, "DELETE", path, body, JSON, frozenset())
        if response.status == NOT_FOUND or _is_another(response):
            return False
        if not response.ok:
            raise RefusedError(response)
        self._pods.answered(action.pod, response.body)  # so that another preemptor does not delete it again
        return True

    async def _patch(self, key: str, body: bytes | None) -> None:
        if body is None:
            return
        path = f"{pod_path(key)}/status"
        response = await self._sender.send_again(Lane.STATUSES, "PATCH", path, body, STRATEGIC_MERGE_PATCH)
        if not response.ok:
            raise RefusedError(response)
        self._pods.answered(key, response.body)


def _is_another(response: Response) -> bool:
    """Whether the pod was spared because it is not the one that was meant."""
    # Upstream: apiserver/pkg/registry/rest/delete.go says the first, apiserver/pkg/storage the second (v1.36).
    texts = ("the UID in the precondition (", "UID in precondition: ")
    return response.status == CONFLICT and any(text in message_of(response) for text in texts)


def _is_there(response: Response, node: str) -> bool:
    """Whether the pod was refused because it is on that very node."""
    return response.status == CONFLICT and message_of(response).endswith(f' is already assigned to node "{node}"')
