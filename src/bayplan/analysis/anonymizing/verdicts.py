"""CEL selectors without their text: what each of them says of each device, as attributes of the devices.

An expression may compare, cut and join any text of a device, so renaming what it mentions could change its answers.
Instead it is asked about every device there is, and becomes `device.attributes["cel.example"].e1`. A device on which it
fails lacks that attribute, so that the new one fails, too. Devices that are added later match nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from bayplan.model.device_selectors import (
    CompiledDeviceSelector,
    DeviceSelectorError,
    compile_device_selector,
    variables_of,
)
from bayplan.model.resource_claims import Device, DeviceAttribute

_DOMAIN: Final = "cel.example"


class ExpressionVerdicts:
    """The expressions of a cluster, numbered as they are met."""

    def __init__(self) -> None:
        self._selectors: dict[str, CompiledDeviceSelector | None] = {}  # None: does not compile
        self._names: dict[str, str] = {}
        self._known: dict[Hashable, bool | None] = {}

    def stand_in(self, expression: str) -> str:
        """The expression to write in the place of this one."""
        if expression not in self._names:
            self._names[expression] = f"e{len(self._names) + 1}"
            self._selectors[expression] = _compiled(expression)
        name = self._names[expression]
        # A name that nothing declares does not compile either.
        return name if self._selectors[expression] is None else f'device.attributes["{_DOMAIN}"].{name}'

    def attributes(self, driver: str, device: Device) -> dict[str, DeviceAttribute]:
        """What all expressions met so far say of a device."""
        found: dict[str, DeviceAttribute] = {}
        for expression, selector in self._selectors.items():
            verdict = None if selector is None else self._verdict(expression, selector, driver, device)
            if verdict is not None:
                found[f"{_DOMAIN}/{self._names[expression]}"] = DeviceAttribute(bool_value=verdict)
        return found

    def _verdict(self, expression: str, selector: CompiledDeviceSelector, driver: str, device: Device) -> bool | None:
        """None if the expression fails. Devices that differ only in what it does not look at share an answer."""
        values = selector.values_of(driver, device)
        if values is None:
            return _answer(selector, driver, device)
        key = (expression, values)
        if key not in self._known:
            self._known[key] = _answer(selector, driver, device)
        return self._known[key]


def _compiled(expression: str) -> CompiledDeviceSelector | None:
    try:
        return compile_device_selector(expression)
    except DeviceSelectorError:
        return None


def _answer(selector: CompiledDeviceSelector, driver: str, device: Device) -> bool | None:
    try:
        return selector.matches(variables_of(driver, device))
    except (DeviceSelectorError, ValueError):  # the latter: an amount of the device is not one
        return None
