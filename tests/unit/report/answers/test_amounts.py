"""Amounts in words."""

from __future__ import annotations

import pytest

from bayplan.report.answers.amounts import amount_in_words, bare_amount, human_amount, human_capacity, percent


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 1000, "1 core"),
        ("cpu", 2500, "2.5 cores"),
        ("cpu", 1, "0.001 cores"),
        ("cpu", 0, "0 cores"),
        ("cpu", 10_000, "10 cores"),
        ("cpu", 1_234_567, "1234.567 cores"),
        ("cpu", 1_000_000_000, "1000000 cores"),
        ("memory", 3 << 30, "3Gi of memory"),
        ("nvidia.com/gpu", 2, "2 of nvidia.com/gpu"),
    ],
)
def test_an_amount_names_its_resource(resource: str, amount: int, expected: str) -> None:
    assert amount_in_words(resource, amount) == expected


def test_an_amount_whose_resource_is_known() -> None:
    assert (bare_amount("cpu", 500), bare_amount("memory", 1 << 20)) == ("0.5 cores", "1Mi")


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 2_718_820, "2,718.8"),
        ("memory", 65_608_864 << 10, "62.6 GiB"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 95_551_679_124, "89 GiB"),
        ("memory", 12, "12 B"),
        ("nvidia.com/gpu", 1_200, "1,200"),
    ],
)
def test_large_sums_are_rounded_for_people(resource: str, amount: int, expected: str) -> None:
    assert human_amount(resource, amount) == expected


def test_what_a_node_offers_leaves_out_what_it_has_none_of() -> None:
    offered = {"cpu": "15870m", "memory": "65608864Ki", "hugepages-2Mi": "0", "pods": "58"}
    assert human_capacity(offered) == "cpu 15.9, memory 62.6 GiB"


@pytest.mark.parametrize(("share", "expected"), [(0.0, "0%"), (0.001, "<1%"), (0.25, "25%"), (1.0, "100%")])
def test_a_share(share: float, expected: str) -> None:
    assert percent(share) == expected
