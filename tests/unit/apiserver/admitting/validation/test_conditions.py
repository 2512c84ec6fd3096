"""What is refused about conditions of the common type."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.faults import Faults

CONDITION = {
    **{"type": "A", "status": "True", "reason": "R", "message": ""},
    **{"lastTransitionTime": "2026-01-01T00:00:00Z"},
}


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({}, []),
        ({"type": "A b"}, ["c[0].type: Invalid value"]),
        ({"status": "true"}, ['c[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"']),
        ({"observedGeneration": 0}, []),
        (
            {"observedGeneration": -1},
            ["c[0].observedGeneration: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ({"lastTransitionTime": None}, ["c[0].lastTransitionTime: Required value"]),
        ({"reason": ""}, ["c[0].reason: Required value"]),
        ({"reason": "1"}, ["c[0].reason: Invalid value"]),
        ({"reason": "a" * 1024}, []),
        ({"reason": "a" * 1025}, ["c[0].reason: Too long: may not be more than 1024 bytes"]),
        ({"message": "a" * 32_768}, []),
        ({"message": "a" * 32_769}, ["c[0].message: Too long: may not be more than 32768 bytes"]),
    ],
)
def test_each_part_of_a_condition(change: dict[str, Any], faults: list[str]) -> None:
    found = Faults()
    check_conditions([{**CONDITION, **change}], found, "c")
    said = [f"{cause.field}: {cause.message}" for cause in found]
    assert len(said) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(said, faults, strict=True))
