"""What drivers are told about devices."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client.device_configuration import Granted, configuration, granted_requests


def opaque(value: str) -> dict[str, Any]:
    return {"opaque": {"driver": "d", "parameters": {"mode": value}}}


def claim(*config: dict[str, Any]) -> dict[str, Any]:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "gpu"}},
        {"name": "b", "exactly": {"deviceClassName": "gpu"}},
        {
            "name": "c",
            "firstAvailable": [{"name": "x", "deviceClassName": "nic"}, {"name": "y", "deviceClassName": "slow-nic"}],
        },
    ]
    return {"spec": {"devices": {"requests": requests, "config": list(config)}}}


ALLOCATION = {"devices": {"results": [{"request": "a"}, {"request": "b"}, {"request": "c/y"}]}}
GRANTED = [Granted("a", "a", "gpu"), Granted("b", "b", "gpu"), Granted("c", "c/y", "slow-nic")]


def test_of_alternatives_the_one_counts_for_which_devices_were_found() -> None:
    assert granted_requests(claim(), ALLOCATION) == GRANTED


def test_a_class_is_quoted_once_for_all_requests_of_it() -> None:
    made = configuration(claim(), GRANTED, {"gpu": [opaque("1"), opaque("2")], "slow-nic": [opaque("3")], "nic": []})
    assert made == [
        {"source": "FromClass", "requests": ["a", "b"], **opaque("1")},
        {"source": "FromClass", "requests": ["a", "b"], **opaque("2")},
        {"source": "FromClass", "requests": ["c/y"], **opaque("3")},
    ]


@pytest.mark.parametrize(
    ("requests", "times"),
    [([], 1), (["a"], 1), (["a", "b"], 2), (["c"], 1), (["c/y"], 1), (["c/x"], 0)],
)
def test_a_claims_own_configuration_counts_where_it_is_about_what_was_granted(requests: list[str], times: int) -> None:
    config = {**opaque("1"), **({"requests": requests} if requests else {})}
    assert configuration(claim(config), GRANTED, {}) == [{"source": "FromClaim", **config}] * times
