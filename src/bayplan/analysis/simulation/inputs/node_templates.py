"""Many nodes from one: `FILE=N` in, N nodes like each one in the file out.

The copies are named after the template with a number, and `kubernetes.io/hostname` follows the name. Nothing else is
changed, so zones have to come from several templates. A template on which no pod could ever run is a fault, as is a
copy with a name that is taken: both would be a surprise only after the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from bayplan.analysis.simulation.inputs.recorded_trace import is_object_name
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.node import Node
from bayplan.model.quantity import parse_quantity
from bayplan.model.reading import read
from bayplan.model.well_known import HOSTNAME

NODES_MAX = 100_000
_PODS = "pods"
_WHOLE = re.compile(r"[0-9]{1,9}")


def nodes_like(specs: Iterable[str], taken: Iterable[str] = ()) -> list[Node]:
    """The nodes that each `FILE=N` stands for. Raises InvalidObject.

    Args:
        specs: what `--nodes` was given.
        taken: names of nodes that are there already.
    """
    names = set(taken)
    nodes: list[Node] = []
    faults: list[Fault] = []
    for spec in specs:
        file, number = _parsed(spec)
        for template in _templates(file):
            faults += _template_faults(file, template)
            copies = _copies(template, number)
            faults += _name_faults(file, copies, names)
            names.update(one.metadata.name for one in copies)
            nodes += copies
    if faults:
        raise InvalidObject(faults)
    return nodes


def _parsed(spec: str) -> tuple[str, int]:
    file, _, number = spec.rpartition("=")
    if not file or not _WHOLE.fullmatch(number) or not 0 < int(number) <= NODES_MAX:
        message = f"{spec!r}: expected FILE=N with N from 1 to {NODES_MAX:,}"
        raise InvalidObject([Fault("", "", "--nodes", message)])
    return file, int(number)


def _templates(file: str) -> list[Node]:
    templates = [one for one in read([file]).objects if isinstance(one, Node)]
    if not templates:
        raise InvalidObject([Fault(file, "", "", "there is no Node in this file")])
    return templates


def _copies(template: Node, number: int) -> list[Node]:
    digits = len(str(number - 1))
    return [_copy(template, f"{template.metadata.name}-{place:0{digits}}") for place in range(number)]


def _copy(template: Node, name: str) -> Node:
    labels = {**template.metadata.labels, HOSTNAME: name}
    metadata = replace(template.metadata, name=name, labels=labels, uid="", resource_version="")
    return replace(template, metadata=metadata)


def _template_faults(file: str, template: Node) -> Iterator[Fault]:
    """What keeps every pod off such a node. Quantities are well-formed: reading has seen to that."""
    named = f"Node {template.metadata.name}"
    amounts = template.status.allocatable or template.status.capacity
    if not amounts:
        yield Fault(file, named, "status.allocatable", "is missing: nothing would fit on it")
        return
    for name, amount in amounts.items():
        if parse_quantity(amount) < 0:
            yield Fault(file, named, f"status.allocatable[{name}]", f"must be 0 or more, not {amount}")
    if parse_quantity(amounts.get(_PODS, 0)) == 0:
        yield Fault(file, named, f"status.allocatable[{_PODS}]", "is missing or 0: no pod would fit on it")


def _name_faults(file: str, copies: list[Node], taken: set[str]) -> Iterator[Fault]:
    names = [one.metadata.name for one in copies]
    if not is_object_name(names[-1]):
        yield Fault(file, f"Node {names[-1]}", "metadata.name", "is no name that Kubernetes accepts")
    twice = next((name for name in names if name in taken), None)
    if twice is not None:
        yield Fault(file, f"Node {twice}", "metadata.name", "this name is taken; a template needs one of its own")
