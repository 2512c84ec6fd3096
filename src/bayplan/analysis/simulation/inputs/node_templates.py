"""Many nodes from one: the values of an option such as `--nodes` in, nodes out.

`FILE=N` means N copies of each node in the file. A plain node needs no file: `8cpu,32Gi=5` means five nodes
with 8 CPUs and 32Gi of memory. Its parts, in any order: `<quantity>cpu`, a bare quantity for memory, and
`<resource>:<quantity>` for anything else. It runs up to 110 pods unless it says otherwise (`pods:250`).

Copies are named after the template with a number, and `kubernetes.io/hostname` follows the name. Nothing else changes,
so zones have to come from several templates. Where nodes are known already, `NAME=N` means copies of one of them, ready
for pods: not cordoned, and without the taints that Kubernetes sets by itself. A node on which no pod could ever run is
a fault, as is a name that is already taken: both would otherwise surface only after the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bayplan.analysis.simulation.inputs.recorded_trace import is_object_name
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.meta import ObjectMeta
from bayplan.model.names import is_resource_name
from bayplan.model.node import Node, NodeStatus
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.reading import read
from bayplan.model.structs import replace
from bayplan.model.well_known import HOSTNAME, NODE_STATE_TAINTS

NODES_MAX = 100_000
_PODS = "pods"
_PODS_BY_DEFAULT = "110"  # as a kubelet has it
_MEMORY_MIN = "1Mi"  # less means that the unit is missing
_WHOLE = re.compile(r"[0-9]{1,9}")
#: A part that no file name has: an amount with its unit, or a resource with its amount. `./8cpu` is a file.
_PART = re.compile(r"[0-9.]*[0-9][A-Za-z]*|[A-Za-z][\w./-]*:[0-9.]+[A-Za-z]*")
_FORM = "expected a node such as 8cpu,32Gi or 8cpu,32Gi,nvidia.com/gpu:4"


def nodes_like(
    specs: Iterable[str],
    taken: Iterable[str] = (),
    *,
    known: Mapping[str, Node] | None = None,
    option: str = "--nodes",
) -> list[Node]:
    """The nodes for the values of an option. Raises InvalidObject.

    Args:
        specs: `FILE=N` or `8cpu,32Gi=N`.
        taken: names of existing nodes.
        known: nodes that may be named as a template; their names are taken.
        option: that the values were given for.
    """
    names = {*taken, *(known or ())}
    nodes: list[Node] = []
    faults: list[Fault] = []
    for spec in specs:
        source, number = _parsed(spec, option, "FILE=N" if known is None else "NODE=N, FILE=N")
        if known and source in known:
            templates = [_fresh(known[source])]
        else:
            templates = _templates(source, spec, option, is_file=known is None)
        for template in templates:
            faults += _template_faults(source, template)
            copies = _copies(template, number)
            faults += _name_faults(source, copies, names)
            names.update(node.metadata.name for node in copies)
            nodes += copies
    if faults:
        raise InvalidObject(faults)
    return nodes


def _parsed(spec: str, option: str, forms: str) -> tuple[str, int]:
    """The node, the file or the plain node, and how many."""
    source, _, number = spec.rpartition("=")
    if not source or not _WHOLE.fullmatch(number) or not 0 < int(number) <= NODES_MAX:
        raise _refused(option, spec, f"expected {forms}, or a node such as 8cpu,32Gi=N, with N from 1 to {NODES_MAX:,}")
    return source, int(number)


def _refused(option: str, spec: str, message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", option, f"{spec!r}: {message}")])


def _fresh(node: Node) -> Node:
    """As it would be if it had just joined."""
    taints = [taint for taint in node.spec.taints if not taint.key.startswith(NODE_STATE_TAINTS)]
    return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))


def _templates(source: str, spec: str, option: str, *, is_file: bool) -> list[Node]:
    if any(_PART.fullmatch(part) for part in source.split(",")):
        try:
            return [_plain_node(source)]
        except ValueError as error:
            raise _refused(option, spec, f"{error}; {_FORM}") from error
    if not is_file and not Path(source).exists():
        raise _refused(option, spec, f"{source} is neither a node of the cluster nor a file; {_FORM}")
    templates = [obj for obj in read([source]).objects if isinstance(obj, Node)]
    if not templates:
        raise InvalidObject([Fault(source, "", "", "there is no Node in this file")])
    return templates


def _plain_node(text: str) -> Node:
    """`8cpu,32Gi` as a node. Raises ValueError."""
    amounts: dict[str, str] = {}
    for part in text.split(","):
        resource, amount = _resource_and_amount(part.strip())
        _check_amount(resource, amount)
        if resource in amounts:
            raise ValueError(f"{resource} is given twice")
        amounts[resource] = amount
    for required in (CPU_NAME, MEMORY_NAME):
        if required not in amounts:
            raise ValueError(f"{required} is missing")
    name = re.sub(r"[^a-z0-9.]+", "-", text.lower())
    return Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable={_PODS: _PODS_BY_DEFAULT, **amounts}))


def _resource_and_amount(part: str) -> tuple[str, str]:
    resource, colon, amount = part.rpartition(":")
    if colon:
        return resource, amount
    return (CPU_NAME, part.removesuffix(CPU_NAME)) if part.endswith(CPU_NAME) else (MEMORY_NAME, part)


def _check_amount(resource: str, amount: str) -> None:
    if resource != _PODS and not is_resource_name(resource):
        raise ValueError(f"{resource!r} is not the name of a resource, such as nvidia.com/gpu")
    try:
        nano = parse_quantity(amount)
    except ValueError as error:
        raise ValueError(f"{amount!r} is not a quantity") from error
    if nano <= 0:
        raise ValueError(f"{resource} must be greater than 0")
    if ("/" in resource or resource == _PODS) and nano % NANO_PER_UNIT:
        raise ValueError(f"{resource} must be a whole number, not {amount}")
    if resource == MEMORY_NAME and nano < parse_quantity(_MEMORY_MIN):
        raise ValueError(f"{resource} of {amount} is less than {_MEMORY_MIN}")


def _copies(template: Node, number: int) -> list[Node]:
    digits = len(str(number - 1))
    return [_copy(template, f"{template.metadata.name}-{place:0{digits}}") for place in range(number)]


def _copy(template: Node, name: str) -> Node:
    labels = {**template.metadata.labels, HOSTNAME: name}
    metadata = replace(template.metadata, name=name, labels=labels, uid="", resource_version="")
    return replace(template, metadata=metadata)


def _template_faults(source: str, template: Node) -> Iterator[Fault]:
    """What keeps every pod off such a node. Quantities are well-formed: reading has seen to that."""
    named = f"Node {template.metadata.name}"
    amounts = template.status.allocatable or template.status.capacity
    if not amounts:
        yield Fault(source, named, "status.allocatable", "is missing: no pod would fit on this node")
        return
    for name, amount in amounts.items():
        if parse_quantity(amount) < 0:
            yield Fault(source, named, f"status.allocatable[{name}]", f"must be 0 or more, not {amount}")
    if parse_quantity(amounts.get(_PODS, 0)) == 0:
        yield Fault(source, named, f"status.allocatable[{_PODS}]", "is missing or 0: no pod would fit on this node")


def _name_faults(source: str, copies: list[Node], taken: set[str]) -> Iterator[Fault]:
    names = [node.metadata.name for node in copies]
    if not is_object_name(names[-1]):
        yield Fault(source, f"Node {names[-1]}", "metadata.name", "is not a valid Kubernetes name")
    twice = next((name for name in names if name in taken), None)
    if twice is not None:
        yield Fault(source, f"Node {twice}", "metadata.name", "this name is already taken")
