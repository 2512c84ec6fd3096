"""What is refused about where pods may go."""

from __future__ import annotations

import pytest
from tests.support.admission_documents import pod, refusal

from bayplan.apiserver.schema.versions import serving

GATES = {"TaintTolerationComparisonOperators": True}
NOT_CANONICAL = "must be a valid decimal integer in canonical form"
OUT_OF_RANGE = "value out of range"


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ("1", []),
        ("-9223372036854775808", []),
        ("-9223372036854775809", [OUT_OF_RANGE]),
        ("9223372036854775807", []),
        ("9223372036854775808", [OUT_OF_RANGE]),
        ("100000000000000000000", [OUT_OF_RANGE]),
        ("", ["must be non-empty", "invalid syntax"]),
        ("01", [NOT_CANONICAL]),
        ("+1", [NOT_CANONICAL]),
        ("x", [NOT_CANONICAL, "invalid syntax"]),
    ],
)
@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_numbers_that_taints_are_compared_with(operator: str, value: str, faults: list[str]) -> None:
    with serving("1.37", GATES):
        said = refusal(pod(tolerations=[{"key": "a", "operator": operator, "value": value}]))
    assert said.count("spec.tolerations[0].value: Invalid value") == len(faults)
    assert all(fault in said for fault in faults)
