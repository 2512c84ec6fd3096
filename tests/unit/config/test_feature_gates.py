"""Feature gates by name: the defaults are accepted, everything else is refused with the gate's name."""

from __future__ import annotations

import pytest

from bayplan.config.feature_gates import DEFAULTS, check_feature_gates


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_is_accepted_and_the_opposite_refused(name: str) -> None:
    check_feature_gates(f"{name}={str(DEFAULTS[name]).lower()}")
    with pytest.raises(ValueError, match=f"^{name}=.* is not supported: bayplan works with the default of v1.36"):
        check_feature_gates(f"{name}={str(not DEFAULTS[name]).lower()}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nonsense=true", "unrecognized feature gate: Nonsense"),
        ("GangScheduling", "missing bool value for GangScheduling"),
        ("GangScheduling=maybe", "invalid value of GangScheduling=maybe, use true or false"),
        ("GangScheduling=false, VolumeLimitScaling=true", "VolumeLimitScaling=true is not supported"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_feature_gates(text)


@pytest.mark.parametrize("text", ["", "GangScheduling=F,DynamicResourceAllocation=1", " GangScheduling = false ,"])
def test_accepted(text: str) -> None:
    check_feature_gates(text)
