"""A catalog of nodes that can be had: a YAML or JSON file in, node types out.

The file is a list. Each entry has a `name`, a `capacity` as a node reports it and a `price` (any currency, any period),
and may have `labels`, `taints`, `zones` to choose from, and `max`, the most nodes of it in all. All faults are reported
at once. Prices are compared and added up; nothing else is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayplan.admission import admit
from bayplan.analysis.answers.given_amounts import fault_in_amount
from bayplan.analysis.answers.nodes_needed import NODES_MAX
from bayplan.analysis.simulation.inputs.recorded_trace import is_object_name
from bayplan.core.columns.resources import PODS_NAME
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.node import Node
from bayplan.model.reading import from_dicts
from bayplan.model.structs import replace
from bayplan.model.well_known import HOSTNAME, INSTANCE_TYPE, TAINT_EFFECTS, ZONE
from bayplan.model.yaml_documents import YamlError, parse_yaml

_FIELDS = ("name", "capacity", "price", "labels", "taints", "zones", "max")
_REQUIRED = ("name", "capacity", "price")
_MISSING: tuple[Any, ...] = (None, "", {})
#: Others are mistakes, and beyond what a solver compares.
_PRICE_MIN, _PRICE_MAX = 1e-6, 10_000_000_000
_PODS_BY_DEFAULT = "110"  # as a kubelet has it


@dataclass(frozen=True, slots=True)
class NodeType:
    """Nodes of one entry in one zone."""

    name: str
    price: float
    zone: str  # "" if the entry names none
    most: int  # of the entry, in all zones together
    template: Node

    def node(self, number: int) -> Node:
        """The node of this number."""
        name = "-".join(part for part in (self.name, self.zone, str(number)) if part)
        meta = self.template.metadata
        return replace(self.template, metadata=replace(meta, name=name, labels={**meta.labels, HOSTNAME: name}))


def read_catalog(path: str | Path) -> list[NodeType]:
    """Raises InvalidObject with all faults."""
    source = str(path)
    try:
        documents = list(parse_yaml(Path(path).read_bytes()))
    except YamlError as error:
        raise InvalidObject([Fault(source, "", "", str(error))]) from error
    return catalog_of([entry for document in documents for entry in _entries(source, document)], source)


def catalog_of(entries: list[Any], source: str = "catalog") -> list[NodeType]:
    """Raises InvalidObject with all faults."""
    faults: list[Fault] = []
    types: list[NodeType] = []
    for position, entry in enumerate(entries):
        try:
            types += _types(source, position, entry)
        except InvalidObject as error:
            faults += error.faults
    names = [entry.get("name") for entry in entries if isinstance(entry, Mapping)]
    for name in {str(name) for name in names if name and names.count(name) > 1}:
        faults.append(Fault(source, name, "name", "is given to several node types"))
    if not entries:
        faults.append(Fault(source, "", "", "the catalog has no node types"))
    if faults:
        raise InvalidObject(faults)
    return types


def _entries(source: str, document: Any) -> list[Any]:
    if document is None:
        return []
    if isinstance(document, Mapping) and isinstance(document.get("nodes"), list):
        document = document["nodes"]
    if not isinstance(document, list):
        raise InvalidObject(
            [Fault(source, "", "", "expected a list of node types, each with name, capacity and price")]
        )
    return document


def _types(source: str, position: int, entry: Any) -> Iterator[NodeType]:
    if not isinstance(entry, Mapping):
        raise InvalidObject([Fault(source, f"[{position}]", "", "expected a map with name, capacity and price")])
    what = str(entry.get("name") or f"[{position}]")
    faults = [Fault(source, what, field, message) for field, message in _faults_of(entry)]
    if faults:
        raise InvalidObject(faults)
    most = NODES_MAX if entry.get("max") is None else entry["max"]
    for zone in entry.get("zones") or [""]:
        template = _template(source, what, entry, zone)
        yield NodeType(what, float(entry["price"]), zone, most, template)


def _faults_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _REQUIRED:
        if entry.get(field) in _MISSING:
            yield field, "is required"
    for field in entry:
        if field not in _FIELDS:
            yield str(field), f"unknown field; expected one of: {', '.join(_FIELDS)}"
    yield from _faults_of_price(entry.get("price"))
    most = entry.get("max")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= NODES_MAX):
        yield "max", f"{most!r} is not a number from 0 to {NODES_MAX:,}"
    zones = entry.get("zones")
    if zones is not None and not (
        isinstance(zones, list) and all(isinstance(zone, str) and is_object_name(zone) for zone in zones)
    ):
        yield "zones", "expected a list of names, in lower case"
    elif zones and len(set(zones)) < len(zones):
        yield "zones", "names a zone twice"
    yield from _faults_of_capacity(entry.get("capacity"))
    if entry.get("name") and not is_object_name(str(entry["name"])):
        yield "name", "not a name that a node can have: lower-case letters, digits and hyphens"
    yield from _faults_of_looks(entry.get("labels"), entry.get("taints"))


def _faults_of_price(price: Any) -> Iterator[tuple[str, str]]:
    if price is None:
        return
    if isinstance(price, bool) or not isinstance(price, int | float):
        yield "price", f"{price!r} is not a number"
    elif not price >= 0:
        yield "price", f"{price} is not a price: it must not be negative"
    elif price and not _PRICE_MIN <= price <= _PRICE_MAX:
        yield "price", f"expected 0, or a price from {_PRICE_MIN:f} to {_PRICE_MAX:,}"


def _faults_of_capacity(capacity: Any) -> Iterator[tuple[str, str]]:
    if capacity in _MISSING:
        return
    if not isinstance(capacity, Mapping):
        yield "capacity", "expected resources and amounts, such as cpu: 8"
        return
    for resource, amount in capacity.items():
        if not isinstance(resource, str):
            yield "capacity", f"{resource!r} is not the name of a resource"
        elif isinstance(amount, str | int | float) and (fault := fault_in_amount(resource, amount)):
            yield f"capacity[{resource}]", fault


def _faults_of_looks(labels: Any, taints: Any) -> Iterator[tuple[str, str]]:
    """Of what pods can ask for, or must tolerate."""
    if labels is not None and not (isinstance(labels, Mapping) and all(isinstance(v, str) for v in labels.values())):
        yield "labels", "expected keys and texts, such as pool: a"
    if taints is not None and not isinstance(taints, list):
        yield "taints", "expected a list of taints, each with key and effect"
        return
    for taint in taints or []:
        if not isinstance(taint, Mapping) or not taint.get("key") or taint.get("effect") not in TAINT_EFFECTS:
            yield "taints", f"{taint!r}: expected a key, and an effect: {', '.join(TAINT_EFFECTS)}"


def _template(source: str, what: str, entry: Mapping[str, Any], zone: str) -> Node:
    amounts = {PODS_NAME: _PODS_BY_DEFAULT, **entry["capacity"]}
    labels = {INSTANCE_TYPE: what, **(entry.get("labels") or {}), **({ZONE: zone} if zone else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": what, "labels": labels},
        "spec": {"taints": entry.get("taints") or []},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    try:
        (node,) = admit(list(from_dicts([document], source).objects))
    except InvalidObject as error:
        raise InvalidObject(
            Fault(source, what, fault.field.replace("status.allocatable", "capacity"), fault.message)
            for fault in error.faults
            if not fault.field.startswith("status.capacity")  # the same amounts
        ) from error
    assert isinstance(node, Node)
    return node
