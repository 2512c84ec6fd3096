"""Tolerations: which taints they tolerate."""

import pytest

from bayplan.model.node import Taint
from bayplan.model.pod import Toleration
from bayplan.model.tolerations import any_tolerates, tolerates

TAINT = Taint(key="gpu", value="a100", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(key="gpu", value="a100", effect="NoSchedule"), True, id="all-equal"),
        pytest.param(Toleration(key="gpu", operator="Equal", value="a100"), True, id="any-effect"),
        pytest.param(Toleration(key="gpu", operator="Exists"), True, id="any-value"),
        pytest.param(Toleration(operator="Exists"), True, id="anything"),
        pytest.param(Toleration(operator="Exists", effect="NoExecute"), False, id="other-effect"),
        pytest.param(Toleration(key="gpu", value="h100"), False, id="other-value"),
        pytest.param(Toleration(key="gpu"), False, id="no-value-is-not-any"),
        pytest.param(Toleration(key="tpu", operator="Exists"), False, id="other-key"),
        pytest.param(Toleration(value="a100"), True, id="equal-value-any-key"),
        pytest.param(Toleration(key="gpu", operator="Gt", value="1"), False, id="greater-than-is-off"),
        pytest.param(Toleration(key="gpu", operator="Lt", value="1"), False, id="less-than-is-off"),
        pytest.param(Toleration(key="gpu", operator="exists"), False, id="unknown-operator"),
        pytest.param(Toleration(key="gpu", operator="Exists", toleration_seconds=0), True, id="seconds-do-not-count"),
    ],
)
def test_tolerates(toleration: Toleration, expected: bool) -> None:
    """Effect, key and operator decide; an empty effect or key stands for any."""
    assert tolerates(toleration, TAINT) is expected


def test_any_tolerates() -> None:
    """One toleration of several is enough, none is not."""
    useless, useful = Toleration(key="tpu", operator="Exists"), Toleration(key="gpu", operator="Exists")
    assert any_tolerates([useless, useful], TAINT)
    assert not any_tolerates([useless], TAINT)
    assert not any_tolerates([], TAINT)
