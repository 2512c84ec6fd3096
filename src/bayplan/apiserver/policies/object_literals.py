"""Literals of objects in expressions of mutating policies: `Object{spec: Object.spec{replicas: 3}}`, `JSONPatch{…}`.

Such types have any fields. The checker has to know fields, so each expression gets types with the fields that it names;
`Object.spec` is written `Object_spec` for it, which keeps all columns where they are. `plain` gives what a literal
stands for, once its types are found to follow its fields.
"""

from __future__ import annotations

import re
from typing import Any, Final

from bayplan.apiserver.policies.object_types import DYN, TEXT, ObjectTypes
from bayplan.model.cel.values import CelError, ObjectValue, Quantity, Semver

OBJECT: Final = "Object"
JSON_PATCH: Final = "JSONPatch"
_PATCH_FIELDS: Final = {"op": TEXT, "path": TEXT, "from": TEXT, "value": DYN}
_TOKEN: Final = re.compile(
    r"""(?P<skipped>[rRbB]{0,2}(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |//[^\n]*)
    |(?P<type>(?<![\w.])Object(?:\.[A-Za-z_]\w*)*(?=\s*\{))
    |(?P<field>(?<![\w.])[A-Za-z_]\w*(?=\s*:))""",
    re.VERBOSE | re.DOTALL,
)


class Literals:
    """The literals of one expression."""

    def __init__(self, expression: str) -> None:
        found = [match for match in _TOKEN.finditer(expression) if match["skipped"] is None]
        self._names = {_checked_name(match["type"]): match["type"] for match in found if match["type"]}
        self._fields = dict.fromkeys((match["field"] for match in found if match["field"]), DYN)
        self.checked_text = _TOKEN.sub(lambda match: _checked_name(match["type"] or match[0], match), expression)

    def declare(self, types: ObjectTypes) -> None:
        """What the checker has to know."""
        types.declare(JSON_PATCH, _PATCH_FIELDS)
        for name in {OBJECT: OBJECT, **self._names}:
            types.declare(name, self._fields)

    def type_name(self, value: ObjectValue) -> str:
        """As it was written."""
        return self._names.get(value.type_name, value.type_name)

    def plain(self, value: Any) -> Any:
        """The value as JSON has it; raises CelError where the name of a type does not follow from its field."""
        if isinstance(value, ObjectValue):
            faults = [*self._faults(value, self.type_name(value))]
            if faults:
                raise CelError("type mismatch: " + "\n".join(faults))
        return _plain(value)

    def _faults(self, value: Any, path: str) -> list[str]:
        faults: list[str] = []
        if isinstance(value, ObjectValue):
            name = self.type_name(value)
            if name != path:
                where = "which matches field name path from root Object type"
                faults.append(f'unexpected type name "{name}", expected "{path}", {where}')
            for field, item in value.items():
                faults += self._faults(item, f"{path}.{field}")
        elif isinstance(value, list | dict):
            for item in value.values() if isinstance(value, dict) else value:
                faults += self._faults(item, path)
        return faults


def _checked_name(name: str, match: re.Match[str] | None = None) -> str:
    return name if match is not None and match["type"] is None else name.replace(".", "_")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Quantity | Semver):
        raise CelError("JSONPath valueExpression evaluated to a type that could not marshal to JSON")
    return value
