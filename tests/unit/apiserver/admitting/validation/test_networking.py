"""Ranges of service addresses may grow by a family, and change in no other way."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.networking import check_service_cidr_update

V4, OTHER_V4, V6 = "10.0.0.0/8", "11.0.0.0/8", "fd00::/64"


def ranges(*given: str) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": {"cidrs": list(given)}}


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ([V4], [V4], []),
        ([V4], [V4, V6], []),
        ([V6], [V6, V4], []),
        ([V4, V6], [V4, V6], []),
        ([V4], [OTHER_V4], ["spec.cidrs[0]"]),
        ([V4], [V6, V4], ["spec.cidrs[0]"]),
        ([V4], [V4, OTHER_V4], ["spec.cidrs"]),
        ([V4], [V4, V6, OTHER_V4], ["spec.cidrs"]),
        ([V4, V6], [V4], ["spec.cidrs"]),
        ([V4, V6], [OTHER_V4, "fd01::/64"], ["spec.cidrs[0]", "spec.cidrs[1]"]),
        ([V4], [], ["spec.cidrs"]),
    ],
)
def test_how_ranges_of_service_addresses_change(before: list[str], after: list[str], fields: list[str]) -> None:
    faults = Faults()
    check_service_cidr_update(ranges(*after), ranges(*before), faults)
    assert [fault.field for fault in faults] == fields
