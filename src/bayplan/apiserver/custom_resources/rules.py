"""Rules of a schema in CEL (`x-kubernetes-validations`), asked about each value that they stand at.

`self` is the value, `oldSelf` what stood there before an update; a rule that looks at `oldSelf` is only asked about
updates. What has not changed is not judged again. A rule that does not compile holds for nothing. All rules of one
object share a budget. Times are text here, and sets compare in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.model.cel.environment import new_environment
from bayplan.model.cel.evaluation import CostLimitError, Program, compile_tree
from bayplan.model.cel.syntax import decode
from bayplan.model.cel.values import NO_SUCH_OVERLOAD, NONE, CelError, OptionalValue
from bayplan.store.errors import StatusCause

NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_OLD_SELF = re.compile(r"\boldSelf\b")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[-./]")
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("namespace", "null", "package", "return", "true", "var", "void", "while"),
    }
)
"""Words of CEL that no field can be named by."""


#: What the rules of one object may cost together. Upstream: RuntimeCELCostBudget (v1.36).
OBJECT_COST_MAX = 10_000_000
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class _Budget:
    """What the rules of one object may still cost."""

    def __init__(self) -> None:
        self._left = OBJECT_COST_MAX

    @property
    def is_spent(self) -> bool:
        return self._left < 0

    def spend(self, cost: int) -> bool:
        """Whether there was enough left."""
        self._left -= cost
        return not self.is_spent


def rule_faults(value: Any, schema: Schema, old: Any = UNSET) -> Iterator[StatusCause]:
    """Rules that do not hold, of the whole document."""
    if schema.has_rules:
        old_view = UNSET if old is UNSET else _view(old, schema)
        yield from _faults(value, _view(value, schema), schema, "", old_view, _Budget())


def _view(value: Any, schema: Schema | None) -> Any:
    """The value as expressions see it: numbers in the schema's type, properties by names that CEL can read."""
    if isinstance(value, dict):
        return {_key(key, schema): _view(item, _of_field(schema, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_view(item, None if schema is None else schema.items) for item in value]
    if schema is not None and schema.type == "number" and isinstance(value, int):
        return float(value)
    return value


def _of_field(schema: Schema | None, key: str) -> Schema | None:
    return None if schema is None else schema.of_field(key)


def _key(key: str, schema: Schema | None) -> str:
    return escaped(key) if schema is not None and key in schema.properties else key


@lru_cache(maxsize=4_096)
def escaped(name: str) -> str:
    """A property's name as expressions write it."""
    # Upstream: apiserver/pkg/cel/escaping.go (v1.36).
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def _faults(value: Any, view: Any, schema: Schema, path: str, old: Any, budget: _Budget) -> Iterator[StatusCause]:
    if value is None or not schema.has_rules:
        return
    for rule in schema.rules:
        yield from _judge(rule, value, view, schema, path, old, budget)
    if isinstance(value, dict):
        for key, item in value.items():
            inner, name = schema.of_field(key), _key(key, schema)
            if inner is not None:
                inner_path = f"{path}.{key}" if key in schema.properties else f"{path}[{key}]"
                old_item = old.get(name, UNSET) if isinstance(old, dict) else UNSET
                yield from _faults(item, view[name], inner, inner_path, old_item, budget)
    elif isinstance(value, list) and schema.items is not None:
        old_items = _old_items(schema, old)
        for position, item in enumerate(value):
            old_item = old_items.get(_map_key(view[position], schema), UNSET)
            yield from _faults(item, view[position], schema.items, f"{path}[{position}]", old_item, budget)


def _old_items(schema: Schema, old: Any) -> dict[tuple[Any, ...], Any]:
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {_map_key(item, schema): item for item in old}


def _map_key(item: Any, schema: Schema) -> tuple[Any, ...]:
    return tuple(str(item.get(escaped(key))) for key in schema.list_map_keys) if isinstance(item, dict) else ()


def _judge(
    rule: Mapping[str, Any], value: Any, view: Any, schema: Schema, path: str, old: Any, budget: _Budget
) -> Iterator[StatusCause]:
    uses_old = _OLD_SELF.search(rule["rule"]) is not None
    is_optional = bool(rule.get("optionalOldSelf"))
    if uses_old and old is UNSET and not is_optional:
        return
    if not uses_old and old is not UNSET and view == old:
        return
    if budget.is_spent:
        return
    program = _program(rule["rule"])
    if program is None:
        # Such a rule is refused when its definition is written; an older server took some of them.
        yield faults.invalid(path, schema.type, f"rule compile error: {rule['rule']}")
        return
    old_self = (NONE if old is UNSET else OptionalValue(True, old)) if is_optional else old
    variables = {"self": view, "oldSelf": old_self}
    holds, cost = program.metered(variables)
    if not budget.spend(cost):
        yield faults.invalid(path, schema.type, OUT_OF_BUDGET)
    elif isinstance(holds, CelError):
        if isinstance(holds, CostLimitError):
            budget.spend(OBJECT_COST_MAX)
        yield faults.invalid(path, schema.type, _failure(holds, rule))
    elif holds is not True:
        yield _broken(rule, value, schema, path, _message(rule, variables))


def _failure(problem: CelError, rule: Mapping[str, Any]) -> str:
    words = _words(rule)
    if isinstance(problem, CostLimitError):
        return f"'{problem}': no further validation rules will be run due to call cost exceeds limit for rule: {words}"
    if str(problem).startswith(NO_SUCH_OVERLOAD):
        problems = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{problem}': {problems}: {words}"
    return f"{problem} evaluating rule: {words}"


def _broken(rule: Mapping[str, Any], value: Any, schema: Schema, path: str, detail: str) -> StatusCause:
    at = f"{path}{rule['fieldPath']}" if rule.get("fieldPath") else path
    match rule.get("reason"):
        case "FieldValueForbidden":
            return faults.forbidden(at, detail)
        case "FieldValueRequired":
            return faults.required(at, detail)
        case "FieldValueDuplicate":
            return faults.duplicate(at, value)
    return faults.invalid_part(at, detail) if schema.type in ("object", "array") else faults.invalid(at, value, detail)


def _words(rule: Mapping[str, Any]) -> str:
    return str(rule.get("message") or rule["rule"]).strip()


def _message(rule: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
    made = _made_message(rule.get("messageExpression", ""), variables)
    if made:
        return made
    return _words(rule) if rule.get("message") else f"failed rule: {_words(rule)}"


def _made_message(expression: str, variables: Mapping[str, Any]) -> str:
    """What the expression gives, if it is one line of text."""
    program = _program(expression) if expression else None
    try:
        text = program(variables) if program is not None else ""
    except CelError:
        return ""
    return text.strip() if isinstance(text, str) and "\n" not in text.strip() else ""


@lru_cache(maxsize=4_096)
def _program(expression: str) -> Program | None:
    """None if it does not compile."""
    try:
        return compile_tree(decode(_environment().compile(expression).serialize()))
    except (RuntimeError, CelError):
        return None


@lru_cache(maxsize=1)
def _environment() -> Any:
    return new_environment(lambda types, _quantity: {"self": types.DYN, "oldSelf": types.DYN})
