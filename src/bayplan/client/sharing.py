"""What many objects have in common, kept once: a hundred thousand pods differ in names and times, and little else.

Takes a freshly decoded pod or node and replaces parts of it by equal ones that were seen before. Objects may share
parts because nobody changes one in place once it was delivered. The memory of parts is bounded. Conditions and statuses
carry times, so every second brings new ones that nobody will see again: they have a small memory to themselves, or they
would crowd out what a workload's pods have in common. What is shared stays shared.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import msgspec

from bayplan.model.node import Node
from bayplan.model.pod import Pod

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)

#: Parts of one generation. Pods of one workload come together in a list, so it need not hold all parts of a cluster.
LASTING_MAX = 4_096
#: How many parts with times are kept. Equal ones come within seconds of each other.
PASSING_MAX = 256
_encode = msgspec.msgpack.Encoder().encode


class _Seen(Generic[Key]):
    """Two generations: what was not asked for while a new one filled up is forgotten."""

    def __init__(self, most: int) -> None:
        """`most` is what a generation may hold."""
        self._most = most
        self._new: dict[Key, Any] = {}
        self._old: dict[Key, Any] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def same(self, key: Key, value: T) -> T:
        """What was seen under the key first, while it is remembered."""
        known = self._new.get(key)
        if known is None:
            known = self._old.get(key, value)
            if len(self._new) >= self._most:
                self._old, self._new = self._new, {}
            self._new[key] = known
        same: T = known
        return same


class SharedParts:
    """Parts of objects that were seen before."""

    def __init__(self) -> None:
        self._lasting: _Seen[tuple[type, bytes]] = _Seen(LASTING_MAX)
        self._passing: _Seen[tuple[type, bytes]] = _Seen(PASSING_MAX)
        self._texts: _Seen[str] = _Seen(LASTING_MAX)
        self._times: _Seen[str] = _Seen(PASSING_MAX)
        self._empty: dict[type, Any] = {list: [], dict: {}}

    def share(self, obj: object) -> None:
        """Lets the object have its parts in common with others."""
        if isinstance(obj, Pod):
            self._share_pod(obj)
        elif isinstance(obj, Node):
            obj.status.images = [self._part(image) for image in obj.status.images]

    def _share_pod(self, pod: Pod) -> None:
        part, passing, text = self._part, self._passing_part, self._text
        meta, spec, status = pod.metadata, pod.spec, pod.status
        meta.namespace, meta.generate_name = text(meta.namespace), text(meta.generate_name)
        meta.labels, meta.annotations = part(meta.labels), part(meta.annotations)
        meta.owner_references, meta.finalizers = part(meta.owner_references), part(meta.finalizers)
        if meta.creation_timestamp is not None:
            meta.creation_timestamp = self._times.same(meta.creation_timestamp, meta.creation_timestamp)
        spec.node_name, spec.scheduler_name = text(spec.node_name), text(spec.scheduler_name)
        spec.containers, spec.init_containers = part(spec.containers), part(spec.init_containers)
        spec.tolerations, spec.node_selector = part(spec.tolerations), part(spec.node_selector)
        spec.topology_spread_constraints = part(spec.topology_spread_constraints)
        spec.scheduling_gates, spec.resource_claims = part(spec.scheduling_gates), part(spec.resource_claims)
        spec.overhead, spec.affinity = part(spec.overhead), part(spec.affinity)
        spec.volumes = part([part(volume) for volume in spec.volumes])
        status.conditions = passing(status.conditions)
        status.container_statuses = passing(status.container_statuses)
        status.init_container_statuses = passing(status.init_container_statuses)
        status.allocated_resources = part(status.allocated_resources)
        status.resource_claim_statuses = part(status.resource_claim_statuses)

    def _part(self, part: T) -> T:
        return self._lasting.same((type(part), _encode(part)), part) if part else self._empty_part(part)

    def _passing_part(self, part: T) -> T:
        return self._passing.same((type(part), _encode(part)), part) if part else self._empty_part(part)

    def _empty_part(self, part: T) -> T:
        """Or None, which is itself."""
        empty: T = self._empty.get(type(part), part)
        return empty

    def _text(self, text: str) -> str:
        return self._texts.same(text, text)
