"""What many objects have in common, kept once: a hundred thousand pods differ in names and times, and little else.

Takes a freshly decoded pod or node and replaces parts of it by equal ones that were seen before. Objects may share
parts because nobody changes one in place once it was delivered. The memory of parts is bounded: when it is full it
begins anew, and what is shared stays shared.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from bayplan.model.node import Node
from bayplan.model.pod import Pod

T = TypeVar("T")

_PARTS_MAX = 50_000
_encode = msgspec.msgpack.Encoder().encode


class SharedParts:
    """Parts of objects that were seen before."""

    def __init__(self) -> None:
        self._parts: dict[tuple[type, bytes], Any] = {}
        self._texts: dict[str, str] = {}
        self._empty: dict[type, Any] = {list: [], dict: {}}

    def share(self, obj: object) -> None:
        """Lets the object have its parts in common with others."""
        if isinstance(obj, Pod):
            self._share_pod(obj)
        elif isinstance(obj, Node):
            obj.status.images = [self._part(image) for image in obj.status.images]

    def _share_pod(self, pod: Pod) -> None:
        part, text = self._part, self._text
        meta, spec, status = pod.metadata, pod.spec, pod.status
        meta.namespace, meta.generate_name = text(meta.namespace), text(meta.generate_name)
        meta.labels, meta.annotations = part(meta.labels), part(meta.annotations)
        meta.owner_references, meta.finalizers = part(meta.owner_references), part(meta.finalizers)
        if meta.creation_timestamp is not None:
            meta.creation_timestamp = text(meta.creation_timestamp)
        spec.node_name, spec.scheduler_name = text(spec.node_name), text(spec.scheduler_name)
        spec.containers, spec.init_containers = part(spec.containers), part(spec.init_containers)
        spec.tolerations, spec.node_selector = part(spec.tolerations), part(spec.node_selector)
        spec.topology_spread_constraints = part(spec.topology_spread_constraints)
        spec.scheduling_gates, spec.resource_claims = part(spec.scheduling_gates), part(spec.resource_claims)
        spec.overhead, spec.affinity = part(spec.overhead), part(spec.affinity)
        spec.volumes = part([part(volume) for volume in spec.volumes])
        status.conditions = part(status.conditions)
        status.container_statuses = part(status.container_statuses)
        status.init_container_statuses = part(status.init_container_statuses)
        status.allocated_resources = part(status.allocated_resources)
        status.resource_claim_statuses = part(status.resource_claim_statuses)

    def _part(self, part: T) -> T:
        if not part:  # empty, or None
            empty: T = self._empty.get(type(part), part)
            return empty
        key = (type(part), _encode(part))
        known = self._parts.get(key)
        if known is None:
            if len(self._parts) >= _PARTS_MAX:
                self._parts.clear()
            known = self._parts[key] = part
        shared: T = known
        return shared

    def _text(self, text: str) -> str:
        if len(self._texts) >= _PARTS_MAX:
            self._texts.clear()
        return self._texts.setdefault(text, text)
