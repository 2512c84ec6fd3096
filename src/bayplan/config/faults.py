"""Collects everything that is wrong with a configuration, so that a user sees all of it at once.

Takes field paths (`profiles[0].pluginConfig[1].args`) and values, gives messages in the wording of the
Kubernetes API: `Invalid value: 101: not in valid range [0-100]`. It decides nothing itself: the checks are in
`decoding`, `args`, `validation` and `merge`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bayplan.model.errors import Fault, InvalidObject

CONFIGURATION_KIND = "KubeSchedulerConfiguration"


class ConfigFaults:
    """A growing list of faults of one configuration."""

    def __init__(self, source: str = "") -> None:
        self.source = source
        self.found: list[Fault] = []

    def add(self, path: str, message: str) -> None:
        """Add a fault with its message as it is."""
        self.found.append(Fault(source=self.source, object=CONFIGURATION_KIND, field=path, message=message))

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """Add: the value is of the right type, yet not allowed."""
        self.add(path, invalid(value, detail))

    def required(self, path: str, detail: str = "") -> None:
        """Add: the field must be given."""
        self.add(path, f"Required value: {detail}" if detail else "Required value")

    def duplicate(self, path: str, value: Any) -> None:
        """Add: the value occurs before."""
        self.add(path, f"Duplicate value: {_quoted(value)}")

    def unsupported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        """Add: the value is none of those that exist."""
        names = ", ".join(_quoted(name) for name in supported)
        self.add(path, f"Unsupported value: {_quoted(value)}: supported values: {names}")

    def forbidden(self, path: str, detail: str) -> None:
        """Add: the field may not be given here."""
        self.add(path, f"Forbidden: {detail}")

    def raise_if_any(self) -> None:
        """Raise `InvalidObject` with all faults, if there are any."""
        if self.found:
            raise InvalidObject(self.found)


def invalid(value: Any, detail: str) -> str:
    """The message for a value of the right type that is not allowed."""
    return f"Invalid value: {_quoted(value)}: {detail}"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
