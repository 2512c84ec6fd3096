"""Expressions without their text select the same devices and fail on the same ones."""

from __future__ import annotations

import pytest

from bayplan.analysis.anonymizing.verdicts import ExpressionVerdicts
from bayplan.model.device_selectors import DeviceSelectorError, compile_device_selector, variables_of
from bayplan.model.resource_claims import Device, DeviceAttribute

DRIVER = "gpu.acme.com"
DEVICES = [
    Device(
        name="a", attributes={"serial": DeviceAttribute(string_value="SN-1"), "cores": DeviceAttribute(int_value=8)}
    ),
    Device(
        name="b", attributes={"serial": DeviceAttribute(string_value="XN-2"), "cores": DeviceAttribute(int_value=4)}
    ),
    Device(name="c"),
]
EXPRESSIONS = [
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].serial.startsWith("SN")',
    f'device.attributes["{DRIVER}"].cores > 4',
    f'device.attributes["{DRIVER}"].serial.lowerAscii() + "x" in ["sn-1x"]',
]


def answer(expression: str, driver: str, device: Device) -> bool | None:
    try:
        return compile_device_selector(expression).matches(variables_of(driver, device))
    except DeviceSelectorError:
        return None


def test_the_answers_are_the_same_and_nothing_of_the_text_is_left() -> None:
    verdicts = ExpressionVerdicts()
    new = [verdicts.stand_in(expression) for expression in EXPRESSIONS]
    assert new[1] == 'device.attributes["cel.example"].e2'
    answers = [[answer(expression, DRIVER, device) for device in DEVICES] for expression in EXPRESSIONS]
    stripped = [Device(attributes=verdicts.attributes(DRIVER, device)) for device in DEVICES]
    assert [[answer(expression, "x1", device) for device in stripped] for expression in new] == answers
    assert answers == [[True, True, True], [True, False, None], [True, False, None], [True, False, None]]


def test_what_does_not_compile_still_does_not() -> None:
    new = ExpressionVerdicts().stand_in("device.serial == 'SN-1'")
    assert new == "e1"
    with pytest.raises(DeviceSelectorError, match="compilation failed"):
        compile_device_selector(new)


def test_the_same_expression_has_one_stand_in() -> None:
    verdicts = ExpressionVerdicts()
    assert verdicts.stand_in("true") == verdicts.stand_in("true") != verdicts.stand_in("false")
