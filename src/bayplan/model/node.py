"""Node: what it has, what keeps pods away from it, and the images it already holds.

See `meta` for the conventions. Heartbeats, addresses and daemon endpoints are left out.
"""

import msgspec

from bayplan.model.meta import Condition, Int64, ObjectPart, RawQuantity, TopLevel


class Taint(ObjectPart, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(ObjectPart, kw_only=True):
    unschedulable: bool = False
    taints: list[Taint] = []


class ContainerImage(ObjectPart, kw_only=True):
    names: list[str] = []
    size_bytes: Int64 = 0


class NodeStatus(ObjectPart, kw_only=True):
    allocatable: dict[str, RawQuantity] = {}
    capacity: dict[str, RawQuantity] = {}
    images: list[ContainerImage] = []
    conditions: list[Condition] = []
    declared_features: list[str] = []


class Node(TopLevel, kw_only=True):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
