"""Catalogs: what an entry means, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.analysis.answers.nodes_needed import NODES_MAX
from bayplan.analysis.answers.planning.catalog import catalog_of, read_catalog
from bayplan.model.errors import InvalidObject

SMALL = {"name": "small", "capacity": {"cpu": 4, "memory": "16Gi"}, "price": 10}


def test_an_entry_with_nothing_but_what_is_needed() -> None:
    (small,) = catalog_of([SMALL])
    node = small.node(2)
    assert (small.price, small.zone, small.most) == (10.0, "", NODES_MAX)
    assert node.metadata.name == "small-2"
    assert node.metadata.labels == {
        "kubernetes.io/hostname": "small-2",
        "node.kubernetes.io/instance-type": "small",
    }
    assert str(node.status.allocatable["pods"]) == "110"


def test_a_type_for_each_zone() -> None:
    found = catalog_of([{**SMALL, "zones": ["a", "b"], "max": 3, "labels": {"pool": "x"}}])
    assert [(each.zone, each.most, each.node(1).metadata.name) for each in found] == [
        ("a", 3, "small-a-1"),
        ("b", 3, "small-b-1"),
    ]
    assert found[1].template.metadata.labels["topology.kubernetes.io/zone"] == "b"
    assert found[1].template.metadata.labels["pool"] == "x"


def test_a_file_may_have_the_list_under_nodes(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text("nodes:\n- {name: small, capacity: {cpu: 4}, price: 1.5}\n")
    assert [each.price for each in read_catalog(path)] == [1.5]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**SMALL, "price": -1}, "catalog: small: price: -1 is not a price: it must not be negative"),
        (
            {**SMALL, "price": float("inf")},
            "catalog: small: price: expected 0, or a price from 0.000001 to 10,000,000,000",
        ),
        ({**SMALL, "price": float("nan")}, "catalog: small: price: nan is not a price"),
        ({**SMALL, "price": 10**400}, "catalog: small: price: expected 0, or a price from"),
        ({**SMALL, "price": 1e-300}, "catalog: small: price: expected 0, or a price from"),
        ({**SMALL, "capacity": {"cpu": -4}}, r"catalog: small: capacity\[cpu\]: -4 is negative"),
        (
            {**SMALL, "capacity": {"memory": "1e30"}},
            r"catalog: small: capacity\[memory\]: 1e30 is more than any machine",
        ),
        ({**SMALL, "capacity": {5: 1}}, "catalog: small: capacity: 5 is not the name of a resource"),
        ({**SMALL, "zones": ["a", "b", "a"]}, "catalog: small: zones: names a zone twice"),
        ({**SMALL, "price": "cheap"}, "catalog: small: price: 'cheap' is not a number"),
        ({**SMALL, "price": True}, "catalog: small: price: True is not a number"),
        ({"name": "small", "price": 1}, "catalog: small: capacity: is required"),
        ({"capacity": {"cpu": 1}, "price": 1}, r"catalog: \[0\]: name: is required"),
        ({**SMALL, "cost": 1}, "catalog: small: cost: unknown field; expected one of: name, capacity"),
        ({**SMALL, "capacity": {"cpu": "lots"}}, "catalog: small: capacity"),
        ({**SMALL, "capacity": 4}, "catalog: small: capacity: expected resources and amounts"),
        ({**SMALL, "capacity": 0}, "catalog: small: capacity: expected resources and amounts"),
        ({**SMALL, "max": -1}, "catalog: small: max: -1 is not a number from 0"),
        ({**SMALL, "zones": "a"}, "catalog: small: zones: expected a list of names"),
        ({**SMALL, "taints": [{"key": "x", "effect": "Never"}]}, "catalog: small: "),
        ({**SMALL, "labels": ["x"]}, "catalog: small: "),
        ({**SMALL, "name": "Not A Name"}, "catalog: Not A Name: "),
        ("small", r"catalog: \[0\]: expected a map"),
    ],
)
def test_what_is_wrong(entry: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        catalog_of([entry])


def test_an_amount_that_is_none_is_told_once() -> None:
    with pytest.raises(InvalidObject) as caught:
        catalog_of([{**SMALL, "capacity": {"cpu": "lots"}}])
    assert [fault.field for fault in caught.value.faults] == ["capacity[cpu]"]


def test_all_faults_at_once() -> None:
    with pytest.raises(InvalidObject) as caught:
        catalog_of([{**SMALL, "price": -1}, {**SMALL, "max": "x"}])
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the catalog has no node types"), ("a: [", "line"), ("price: 3", "expected a list of node types")],
)
def test_files_that_are_no_catalog(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    with pytest.raises(InvalidObject, match=message):
        read_catalog(path)
