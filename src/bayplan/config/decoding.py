"""Plain data to the structs of a configuration, strictly, with every fault and its path.

Takes what a YAML or JSON document holds and a msgspec struct type, gives an instance. Unknown fields are refused, and
a value that cannot be read is left at its default. Durations are written as Go writes them, bytes as base64.
"""

from __future__ import annotations

import base64
import binascii
from types import NoneType
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET

from bayplan.config.faults import ConfigFaults, invalid
from bayplan.model.conversion import Conversion
from bayplan.model.durations import Duration, parse_duration

StructT = TypeVar("StructT", bound=msgspec.Struct)


def decode_struct(struct: type[StructT], data: Any, path: str, faults: ConfigFaults) -> StructT:
    """An instance of `struct`; what could not be read has its default value and a fault."""
    return _ConfigurationConversion(faults.add).struct(struct, data, path)


class _ConfigurationConversion(Conversion):
    type_names: ClassVar[dict[type, str]] = {
        dict: "object",
        list: "list",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        bytes: "base64 string",
        Duration: "duration such as 10s",
        NoneType: "null",
    }

    def report_unknown(self, path: str) -> None:
        self._report(path, "unknown field")

    def out_of_range(self, number: int, least: int, most: int) -> str:
        return invalid(number, f"not in valid range [{least}, {most}]")

    def scalar(self, wanted: type, value: Any) -> Any:
        if wanted not in (Duration, bytes):
            return super().scalar(wanted, value)
        if not isinstance(value, str):
            return UNSET
        return parse_duration(value) if wanted is Duration else _bytes(value)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
