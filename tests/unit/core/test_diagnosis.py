"""The scheduler's message for a pod that fits nowhere, and its parts."""

from __future__ import annotations

import pytest

from bayplan.core.diagnosis import without_preemption


@pytest.mark.parametrize(
    ("message", "short"),
    [
        (
            "0/3 nodes are available: 3 Insufficient example.com/gpu. preemption: 0/3 nodes are available.",
            "0/3 nodes are available: 3 Insufficient example.com/gpu",
        ),
        ("0/0 nodes are available.", "0/0 nodes are available"),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
    ],
)
def test_what_a_message_says_of_nodes(message: str, short: str) -> None:
    assert without_preemption(message) == short
