"""Rules in CEL of a definition, looked at when the definition is written: they must compile, and not cost too much.

Takes definitions whose schemas are structural; gives causes in upstream's words. Expressions are checked against the
types of the schema, except that fields of objects are checked for their names alone. Costs are estimated from below:
what is refused here, upstream refuses, but it also refuses some rules whose cost is close to the limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.rules import escaped
from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.model.cel.environment import new_environment
from bayplan.model.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    decode,
)
from bayplan.model.cel.values import CelError
from bayplan.store.errors import StatusCause

# Upstream: apiserver/pkg/apis/cel/config.go and apiextensions/validation/validation.go (v1.36).
_REQUEST_BYTES: Final = 3 * 1024 * 1024
_RULE_COST_MAX: Final = 10_000_000
_MANY_TIMES: Final = 100.0
#: How many bytes of JSON a value takes at least, by its type, and for texts by their format.
_SIZES: Final = {"boolean": 4, "array": 2, "object": 2}
_TEXT_SIZES: Final = {"duration": 3, "date": 12, "date-time": 21}
_RULE: Final = "ValidationRule"

_ROOT: Final = Schema(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
            },
        },
    }
)
_Kind: TypeAlias = tuple[Any, ...]
"""A type of CEL: its name, and the type of what is inside."""
_SCALARS: Final = {"string": "STRING", "integer": "INT", "number": "DOUBLE", "boolean": "BOOL"}
_TEXTS: Final = {"byte": "BYTES", "date": "TIMESTAMP", "datetime": "TIMESTAMP", "duration": "DURATION"}
_DYN: Final = ("DYN",)


def rule_causes(schema: Mapping[str, Any], path: str, faulty: Collection[str] = ()) -> list[StatusCause]:
    """What is wrong with the rules in a schema; rules around a fault of the schema itself are left alone."""
    return [*_causes(Schema(schema), path, 1, faulty, is_root=True)]


def _causes(
    schema: Schema, path: str, times: int | None, faulty: Collection[str], *, is_root: bool = False
) -> Iterator[StatusCause]:
    """Of a schema that applies to as many values as `times` says; None if nothing bounds them."""
    if not schema.has_rules:
        return
    more = schema.source.get("maxProperties")
    if schema.additional is not None:
        bound = None if times is None or more is None else times * more
        yield from _causes(schema.additional, f"{path}.additionalProperties", bound, faulty)
    for name, inner in schema.properties.items():
        yield from _causes(inner, f"{path}.properties[{name}]", times, faulty)
    if schema.items is not None:
        most = schema.source.get("maxItems")
        bound = None if times is None or most is None else times * most
        yield from _causes(schema.items, f"{path}.items", bound, faulty)
    if any(fault.startswith(path) for fault in faulty):
        return
    for position, rule in enumerate(schema.rules):
        yield from _rule_causes(schema, rule, f"{path}.x-kubernetes-validations[{position}]", times, is_root=is_root)


def _rule_causes(
    schema: Schema, rule: Mapping[str, Any], path: str, times: int | None, *, is_root: bool
) -> Iterator[StatusCause]:
    text = str(rule.get("rule", ""))
    kind = _DYN if schema.is_embedded or is_root else _kind_of(schema)
    tree, fault = _checked(text, kind, is_optional=bool(rule.get("optionalOldSelf")))
    if tree is not None:
        times = _REQUEST_BYTES // (_size_min(schema) + 1) if times is None else times
        cost = _Cost(schema).of(tree) * times
        if cost > _RULE_COST_MAX:
            yield faults.forbidden(f"{path}.rule", _too_much(cost / _RULE_COST_MAX))
        fault = fault or _undefined_field(text, tree, schema, is_root=is_root)
    if fault:
        yield faults.invalid_internal(f"{path}.rule", {**rule}, _RULE, fault)
    message = rule.get("messageExpression")
    if message:
        _, fault = _checked(message, kind, is_optional=bool(rule.get("optionalOldSelf")), wanted="string")
        if fault:
            yield faults.invalid_internal(f"{path}.messageExpression", {**rule}, _RULE, f"messageExpression {fault}")


def _too_much(factor: float) -> str:
    shown = "more than 100x" if factor > _MANY_TIMES else f"{factor:.1f}x"
    return (
        f"estimated rule cost exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


# -- compiling


def _kind_of(schema: Schema) -> _Kind:
    if len(schema.types) != 1:
        return _DYN
    if schema.type == "array":
        return ("List", _DYN if schema.items is None else _kind_of(schema.items))
    if schema.type == "object":
        return _DYN if schema.additional is None else ("Map", _kind_of(schema.additional))
    if schema.type == "string":
        return (_TEXTS.get(schema.format.replace("-", ""), "STRING"),)
    return (_SCALARS.get(schema.type, "DYN"),)


def _checked(text: str, kind: _Kind, *, is_optional: bool, wanted: str = "bool") -> tuple[Node | None, str]:
    """The tree of an expression, if it compiles, and what is wrong with it."""
    try:
        compiled = _environment(_DYN if is_optional else kind).compile(text)
        tree = decode(compiled.serialize())
    except (RuntimeError, CelError) as error:
        return None, f"compilation failed: {_library_words(str(error))}"
    result = str(compiled.return_type()).lower()
    if result in (wanted, "dyn"):
        return tree, ""
    return tree, "cel expression must evaluate to a bool" if wanted == "bool" else "must evaluate to a string"


def _library_words(text: str) -> str:
    return text.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


@lru_cache(maxsize=256)
def _environment(kind: _Kind) -> Any:
    return new_environment(lambda types, _quantity: dict.fromkeys(("self", "oldSelf"), _type(types, kind)))


def _type(types: Any, kind: _Kind) -> Any:
    match kind:
        case ("List", inner):
            return types.List(_type(types, inner))
        case ("Map", inner):
            return types.Map(types.STRING, _type(types, inner))
        case _:
            return getattr(types, kind[0])


# -- names of fields


def _undefined_field(text: str, tree: Node, schema: Schema, *, is_root: bool) -> str:
    """What upstream's compiler says of the first field that the schema does not have."""
    field = next(_Fields(is_root=is_root).unknown(tree, {"self": schema, "oldSelf": schema}), None)
    if field is None:
        return ""
    found = re.search(rf"\.\s*\??\s*{re.escape(field)}\b", text)
    start = found.start() if found is not None else 0
    line_start = text.rfind("\n", 0, start) + 1
    line, column = text.count("\n", 0, start) + 1, start - line_start
    shown = text[line_start:].partition("\n")[0]
    return (
        f"compilation failed: ERROR: <input>:{line}:{column + 1}: undefined field '{field}'\n | {shown}\n | "
        f"{'.' * column}^"
    )


_Known: TypeAlias = dict[str, Schema | None]
"""What is known of variables."""


class _Fields:
    """Finds fields of objects that schemas do not have."""

    def __init__(self, *, is_root: bool) -> None:
        self._is_root = is_root

    def unknown(self, node: Node, known: _Known) -> Iterator[str]:
        for child, inner_known in _children(node, known, self):
            yield from self.unknown(child, inner_known)
        if isinstance(node, Select):
            schema = self.schema_of(node.operand, known)
            if schema is not None and self._lacks(schema, node, known):
                yield node.field

    def _lacks(self, schema: Schema, node: Select, known: _Known) -> bool:
        has_fields = schema.type == "object" and schema.properties and schema.additional is None
        if not has_fields or schema.is_embedded or len(schema.types) != 1:
            return False
        return self._field(schema, node.field, is_root=self._stands_for_root(node.operand, known)) is None

    def _stands_for_root(self, node: Node, known: _Known) -> bool:
        return self._is_root and isinstance(node, Ident) and node.name in ("self", "oldSelf") and node.name in known

    @staticmethod
    def _field(schema: Schema, field: str, *, is_root: bool) -> Schema | None:
        if is_root and field in _ROOT.properties:
            return _ROOT.properties[field]
        return next((inner for name, inner in schema.properties.items() if escaped(name) == field), None)

    def schema_of(self, node: Node, known: _Known) -> Schema | None:
        """The schema of what an expression gives, if that is known."""
        match node:
            case Ident(name):
                return known.get(name)
            case Select(operand, field, test_only):
                schema = None if test_only else self.schema_of(operand, known)
                if schema is None or schema.additional is not None:
                    return None if schema is None else schema.additional
                return self._field(schema, field, is_root=self._stands_for_root(operand, known))
            case Call("_[_]", None, (container, _)):
                schema = self.schema_of(container, known)
                return None if schema is None else schema.items or schema.additional
        return None


def _children(node: Node, known: _Known, fields: _Fields) -> Iterator[tuple[Node, _Known]]:
    match node:
        case Select():
            yield node.operand, known
        case Call():
            for child in (node.target, *node.args):
                if child is not None:
                    yield child, known
        case ListLiteral():
            for child in node.elements:
                yield child, known
        case MapLiteral():
            for key, value, _ in node.entries:
                yield key, known
                yield value, known
        case Comprehension():
            over = fields.schema_of(node.range, known)
            yield node.range, known
            yield node.initial, known
            item = over.items if over is not None else None
            inside = {**known, node.variable: item, node.accumulator: None}
            for child in (node.condition, node.step, node.result):
                yield child, inside


# -- costs


#: These cost no more than what they are made of: of a choice, the condition and the dearer branch.
_LOGIC, _CHOICE = ("_&&_", "_||_"), "_?_:_"


class _Cost:
    """The least that upstream would estimate: each step but logic counts one, loops as often as they may go round."""

    def __init__(self, schema: Schema) -> None:
        self._fields = _Fields(is_root=False)
        self._known: _Known = {"self": schema, "oldSelf": schema}

    def of(self, node: Node) -> int:
        return self._cost(node, self._known)

    def _cost(self, node: Node, known: _Known) -> int:
        if not isinstance(node, Comprehension):
            costs = [self._cost(child, inner) for child, inner in _children(node, known, self._fields)]
            function = node.function if isinstance(node, Call) else ""
            if function == _CHOICE:
                return costs[0] + max(costs[1:])
            return (isinstance(node, Ident | Select | Call) and function not in _LOGIC) + sum(costs)
        over = self._fields.schema_of(node.range, known)
        times = 1 if over is None else _length_max(over)
        inside = {**known, node.variable: over.items if over is not None else None, node.accumulator: None}
        return self._cost(node.range, known) + times * self._cost(node.step, inside)


def _length_max(schema: Schema) -> int:
    if schema.items is not None:
        return int(schema.source.get("maxItems", (_REQUEST_BYTES - 2) // (_size_min(schema.items) + 1)))
    if schema.additional is not None:
        return int(schema.source.get("maxProperties", (_REQUEST_BYTES - 2) // (_size_min(schema.additional) + 6)))
    return 1


def _size_min(schema: Schema) -> int:
    """How many bytes of JSON a value takes at least."""
    # Upstream: apiserver/pkg/cel/common/schemas.go SchemaDeclType (v1.36).
    if schema.type == "string":
        return _TEXT_SIZES.get(schema.format, 2)
    size = _SIZES.get(schema.type, 1)
    if schema.type != "object" or schema.additional is not None:
        return size
    # What has a default need not be sent.
    fields = [(name, schema.properties[name]) for name in schema.required if name in schema.properties]
    sent = ((name, field) for name, field in fields if field.types and field.default in (UNSET, None))
    return size + sum(len(name) + 4 + _size_min(field) for name, field in sent)
