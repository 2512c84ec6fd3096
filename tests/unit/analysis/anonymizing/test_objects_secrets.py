"""A secret in every text that any object can hold, and none of them in the anonymized file.

The objects are built from the models' own lists of fields: a new field gets its secrets without a change here.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from bayplan.analysis.anonymizing.objects import anonymized
from bayplan.analysis.anonymizing.rules import ANNOTATIONS
from bayplan.model.kinds import KINDS, Object
from bayplan.report.cluster_dump import dump_lines

SECRET = re.compile(rb"secretq\d+q", re.IGNORECASE)
#: Texts that look like something that is kept; `*` is where the secret goes.
DISGUISES = (
    "*",
    "*.com/*",
    "topology.*.com/*",
    "topology.kubernetes.io/*",
    "*.kubernetes.io/*",
    "kubernetes.io/*",
    "node.kubernetes.io/*",
    "node-role.kubernetes.io/*",
    "deviceclass.resource.kubernetes.io/*",
    "*/v1",
    "apps/v1*",
    "hugepages-*",
    "attachable-volumes-csi-*",
    "requests.*.com/*",
    "default-scheduler-*",
    "*Ready",
    "GPU-*-8d2e-4c1f",
    "00*",
    "*:latest",
    "TZ=Europe/* 0 * * * *",
    'device.driver == "*" && device.attributes["*"].serial.startsWith("*")',
)


class Planting:
    """Builds objects with a secret of its own in every text."""

    def __init__(self, disguise: str) -> None:
        self._disguise = disguise
        self.planted = 0

    def text(self) -> str:
        self.planted += 1
        return self._disguise.replace("*", f"secretq{self.planted}q")

    def part(self, wanted: type) -> Any:
        fields = {field.name: self._value(field.type) for field in msgspec.structs.fields(wanted)}
        if "annotations" in fields:  # others are dropped
            fields["annotations"] |= {key: self.text() for key in ANNOTATIONS}
        return wanted(**fields)

    def _value(self, wanted: Any) -> Any:
        origin, arguments = get_origin(wanted), get_args(wanted)
        if origin is Annotated:
            return self._value(arguments[0])
        if origin in (Union, types.UnionType):
            return self._value(str if str in arguments else arguments[0])
        if origin is list:
            return [self._value(arguments[0]), self._value(arguments[0])]
        if origin is dict:
            return {self.text(): self._value(arguments[1]) for _ in range(2)}
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self.part(wanted)
        plain: dict[Any, Callable[[], Any]] = {
            str: self.text,
            int: lambda: 1,
            bool: lambda: True,
            float: lambda: 1.0,
            Any: self.text,
        }
        return plain[wanted]()


@pytest.mark.parametrize("disguise", DISGUISES)
def test_no_secret_gets_out(disguise: str) -> None:
    planting = Planting(disguise)
    objects: list[Object] = [planting.part(info.struct) for info in KINDS.values()]
    assert planting.planted > 200 * 10
    assert SECRET.findall(b"".join(dump_lines(anonymized(objects)))) == []


def test_the_secrets_are_in_a_file_that_is_not_anonymized() -> None:
    planting = Planting("*")
    objects: list[Object] = [planting.part(info.struct) for info in KINDS.values()]
    # All but the annotations that no file has: two on each part that has any.
    assert len(set(SECRET.findall(b"".join(dump_lines(objects))))) > planting.planted * 0.9
