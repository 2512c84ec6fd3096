"""Many nodes from one: `FILE=N` in, N nodes like each one in the file out.

The copies are named after the template with a number, and `kubernetes.io/hostname` follows the name. Nothing else is
changed, so zones have to come from several templates.
"""

from __future__ import annotations

from msgspec.structs import replace

from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.node import Node
from bayplan.model.reading import read

NODES_MAX = 100_000
_HOSTNAME = "kubernetes.io/hostname"


def nodes_like(spec: str) -> list[Node]:
    """The nodes that `FILE=N` stands for. Raises InvalidObject."""
    file, _, number = spec.rpartition("=")
    if not file or not number.isascii() or not number.isdigit() or not 0 < int(number) <= NODES_MAX:
        raise _wrong("", f"{spec!r}: expected FILE=N with N from 1 to {NODES_MAX:,}")
    templates = [one for one in read([file]).objects if isinstance(one, Node)]
    if not templates:
        raise _wrong(file, "there is no Node in this file")
    for one in templates:
        if not one.status.allocatable and not one.status.capacity:
            raise _wrong(file, f"Node {one.metadata.name}: status.allocatable: is missing: nothing would fit on it")
    digits = len(str(int(number) - 1))
    return [_copy(one, f"{place:0{digits}}") for one in templates for place in range(int(number))]


def _copy(template: Node, number: str) -> Node:
    name = f"{template.metadata.name}-{number}"
    labels = {**template.metadata.labels, _HOSTNAME: name}
    metadata = replace(template.metadata, name=name, labels=labels, uid="", resource_version="")
    return replace(template, metadata=metadata)


def _wrong(source: str, message: str) -> InvalidObject:
    return InvalidObject([Fault(source, "", "" if source else "--nodes", message)])
