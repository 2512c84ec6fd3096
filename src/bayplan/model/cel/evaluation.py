"""A checked tree as a function from variables to a value.

Every node becomes a closure once; evaluating is calling the outermost. Errors are exceptions (`CelError`) with cel-go's
words. Work is counted roughly as cel-go counts its cost, so that an expression that never ends is stopped at the same
limit; the count is not exact to the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from bayplan.model.cel.authorization import AUTHORIZATION
from bayplan.model.cel.extensions import EXTENSIONS
from bayplan.model.cel.library import STRING_FUNCTIONS, by_library
from bayplan.model.cel.network import NETWORK
from bayplan.model.cel.operators import OPERATORS
from bayplan.model.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from bayplan.model.cel.values import (
    NO_SUCH_OVERLOAD,
    NONE,
    CelError,
    DefaultMap,
    Lazy,
    ObjectValue,
    OptionalValue,
    Quantity,
    Semver,
    TypeValue,
    Uint,
)

FUNCTIONS = {**OPERATORS, **EXTENSIONS, **NETWORK, **AUTHORIZATION}

COST_LIMIT = 1_000_000
LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40

#: What the names of types stand for in an expression.
TYPE_NAMES = ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")


class Evaluation:
    """One evaluation: the variables, and how much it has cost so far."""

    __slots__ = ("cost", "variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostLimitError("operation canceled: actual cost limit exceeded")


class CostLimitError(CelError):
    """The end of an evaluation, whatever the expression would make of an error."""


Step: TypeAlias = Callable[[Evaluation], Any]


class Program:
    """An expression that can be evaluated."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __call__(self, variables: Mapping[str, Any]) -> Any:
        """The value; raises CelError."""
        return self._step(Evaluation(dict(variables)))

    def metered(self, variables: Mapping[str, Any]) -> tuple[Any, int]:
        """The value, or the error that there is none, and what that cost."""
        run = Evaluation(dict(variables))
        try:
            return self._step(run), run.cost
        except CelError as error:
            return error, run.cost


def compile_tree(tree: Node) -> Program:
    return Program(_compile(tree))


def _compile(node: Node) -> Step:
    match node:
        case Constant(value):
            return lambda run: value  # noqa: ARG005
        case Ident(name):
            return _ident(name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListLiteral():
            return _list(node)
        case MapLiteral():
            return _map(node)
        case StructLiteral():
            return _struct(node)
        case Comprehension():
            return _comprehension(node)


def _ident(name: str) -> Step:
    name = name.removeprefix(".")
    if name in TYPE_NAMES:
        return lambda run: TypeValue(name)  # noqa: ARG005

    def step(run: Evaluation) -> Any:
        run.spend(1 + name.count("."))
        try:
            value = run.variables[name]
        except KeyError:
            raise CelError(f"no such attribute(s): {name}") from None
        if isinstance(value, CelError):  # what a comprehension has come to so far
            raise value
        return value.value() if isinstance(value, Lazy) else value

    return step


# ---------------------------------------------------------------- looking into values


def _look_up(container: Any, key: Any) -> OptionalValue:
    """What stands under the key; Raises CelError when the key cannot be one."""
    if isinstance(container, DefaultMap):
        return OptionalValue(True, container.get(key, {}))
    if isinstance(container, dict):
        return OptionalValue(True, container[key]) if key in container else NONE
    if isinstance(container, list):
        if not isinstance(key, int | float) or isinstance(key, bool) or key != int(key):
            raise CelError(f"unsupported index type '{type(key).__name__}' in list")
        return OptionalValue(True, container[int(key)]) if 0 <= key < len(container) else NONE
    return NONE


def _element(container: Any, key: Any) -> Any:
    found = _look_up(container, key)
    if not found.present:
        raise CelError(f"index out of bounds: {key}" if isinstance(container, list) else f"no such key: {shown(key)}")
    return found.value


def shown(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _select(node: Select) -> Step:
    operand, field = _compile(node.operand), node.field
    if node.test_only:
        return lambda run: _has(operand(run), field)

    def step(run: Evaluation) -> Any:
        container = operand(run)
        run.spend(1)
        if isinstance(container, OptionalValue):
            return _optional_element(container, field)
        return _element(container, field)

    return step


def _has(container: Any, field: str) -> bool:
    if isinstance(container, OptionalValue):
        return container.present and _look_up(container.value, field).present
    return _look_up(container, field).present


def _optional_element(container: Any, key: Any) -> OptionalValue:
    if isinstance(container, OptionalValue):
        if not container.present:
            return NONE
        container = container.value
    return _look_up(container, key)


# ---------------------------------------------------------------- calls


def _call(node: Call) -> Step:
    name = _qualified(node)
    args = node.args if node.target is None or name != node.function else (node.target, *node.args)
    steps = tuple(_compile(arg) for arg in args)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(*steps)
    if name in STRING_FUNCTIONS and name not in FUNCTIONS:
        return _strict(lambda *values: _string_function(name, *values), steps)
    function = FUNCTIONS.get(name)
    if function is None:
        return _strict(lambda *values: by_library(name, *values), steps)
    return _strict(function, steps)


def _qualified(node: Call) -> str:
    """`sets.contains` and its like: a function in a namespace looks like a member of a variable."""
    if isinstance(node.target, Ident) and f"{node.target.name}.{node.function}" in FUNCTIONS:
        return f"{node.target.name}.{node.function}"
    return node.function


def _string_function(name: str, *values: Any) -> Any:
    if isinstance(values[0], Quantity | Semver | int | float | dict) or any(
        isinstance(value, Quantity | Semver) for value in values
    ):
        raise CelError(f"{NO_SUCH_OVERLOAD}: {name}")
    return by_library(name, *values)


def _strict(function: Callable[..., Any], steps: tuple[Step, ...]) -> Step:
    if len(steps) == 2:
        first, second = steps

        def binary(run: Evaluation) -> Any:
            left, right = first(run), second(run)
            run.spend(1 + _text_cost(left, right))
            return function(left, right)

        return binary

    def step(run: Evaluation) -> Any:
        values = [argument(run) for argument in steps]
        run.spend(1)
        return function(*values)

    return step


def _text_cost(left: Any, right: Any) -> int:
    """A tenth of the shorter text that has to be gone through."""
    if isinstance(left, str) and isinstance(right, str):
        return min(len(left), len(right)) // 10
    return 0


def _and(left: Step, right: Step) -> Step:
    return _logical(left, right, absorbing=False)


def _or(left: Step, right: Step) -> Step:
    return _logical(left, right, absorbing=True)


def _logical(left: Step, right: Step, *, absorbing: bool) -> Step:
    """`&&` and `||`: either side may decide alone, and then an error of the other does not matter."""

    def step(run: Evaluation) -> bool:
        error: CelError | None = None
        for side in (left, right):
            try:
                value = side(run)
            except CostLimitError:
                raise
            except CelError as problem:
                error = error or problem
                continue
            if not isinstance(value, bool):
                error = error or CelError(NO_SUCH_OVERLOAD)
            elif value is absorbing:
                return absorbing
        if error is not None:
            raise error
        return not absorbing

    return step


def _conditional(condition: Step, then: Step, otherwise: Step) -> Step:
    def step(run: Evaluation) -> Any:
        decided = condition(run)
        if not isinstance(decided, bool):
            raise CelError(NO_SUCH_OVERLOAD)
        return then(run) if decided else otherwise(run)

    return step


def _not_strictly_false(argument: Step) -> Step:
    def step(run: Evaluation) -> bool:
        try:
            value = argument(run)
        except CostLimitError:
            raise
        except CelError:
            return True
        return value is not False

    return step


def _index(container: Step, key: Step) -> Step:
    def step(run: Evaluation) -> Any:
        held, at = container(run), key(run)
        run.spend(1)
        return _optional_element(held, at) if isinstance(held, OptionalValue) else _element(held, at)

    return step


def _optional_lookup(container: Step, key: Step) -> Step:
    def step(run: Evaluation) -> OptionalValue:
        held, at = container(run), key(run)
        run.spend(1)
        return _optional_element(held, at)

    return step


def _or_value(optional: Step, default: Step) -> Step:
    def step(run: Evaluation) -> Any:
        held = optional(run)
        return held.value if held.present else default(run)

    return step


def _or_optional(optional: Step, other: Step) -> Step:
    def step(run: Evaluation) -> Any:
        held = optional(run)
        return held if held.present else other(run)

    return step


#: Calls that do not evaluate all their arguments, or look into a container.
_SPECIAL: dict[str, Callable[..., Step]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
    "__not_strictly_false__": _not_strictly_false,
    "_[_]": _index,
    "_?._": _optional_lookup,
    "_[?_]": _optional_lookup,
    "orValue": _or_value,
    "or": _or_optional,
}


# ---------------------------------------------------------------- literals and comprehensions


def _list(node: ListLiteral) -> Step:
    steps = tuple((_compile(element), place in node.optional) for place, element in enumerate(node.elements))

    def step(run: Evaluation) -> list[Any]:
        run.spend(LIST_COST)
        items = []
        for element, optional in steps:
            value = element(run)
            if not optional:
                items.append(value)
            elif value.present:
                items.append(value.value)
        return items

    return step


def _map(node: MapLiteral) -> Step:
    steps = tuple((_compile(key), _compile(value), optional) for key, value, optional in node.entries)

    def step(run: Evaluation) -> dict[Any, Any]:
        run.spend(MAP_COST)
        entries: dict[Any, Any] = {}
        for key_step, value_step, optional in steps:
            key, value = key_step(run), value_step(run)
            if optional and not value.present:
                continue
            if key in entries:
                raise CelError(f"insert failed: key {shown(key)} already exists")
            entries[key] = value.value if optional else value
        return entries

    return step


def _struct(node: StructLiteral) -> Step:
    steps = tuple((field, _compile(value), optional) for field, value, optional in node.entries)

    def step(run: Evaluation) -> ObjectValue:
        run.spend(STRUCT_COST)
        fields = {}
        for field, value_step, optional in steps:
            value = value_step(run)
            if not optional:
                fields[field] = value
            elif value.present:
                fields[field] = value.value
        return ObjectValue(node.type_name, fields)

    return step


def _comprehension(node: Comprehension) -> Step:
    over, initial = _compile(node.range), _compile(node.initial)
    condition, advance, result = _compile(node.condition), _compile(node.step), _compile(node.result)
    variable, accumulator = node.variable, node.accumulator

    def step(run: Evaluation) -> Any:
        items = over(run)
        if not isinstance(items, list | dict):
            raise CelError(f"got '{_go_type(items)}', expected iterable type")
        outer = run.variables
        run.variables = {**outer, accumulator: initial(run)}
        try:
            for item in items:
                run.variables[variable] = item
                if condition(run) is False:
                    break
                run.variables[accumulator] = _advanced(advance, run)
                run.spend(1)
            run.variables.pop(variable, None)
            return result(run)
        finally:
            run.variables = outer

    return step


def _advanced(advance: Step, run: Evaluation) -> Any:
    """The next value, or the error it failed with: what comes later may make that of no account."""
    try:
        return advance(run)
    except CostLimitError:
        raise
    except CelError as problem:
        return problem


def _go_type(value: Any) -> str:
    names = ((bool, "types.Bool"), (Uint, "types.Uint"), (int, "types.Int"), (float, "types.Double"))
    others = ((str, "types.String"), (Quantity, "cel.Quantity"), (Semver, "cel.Semver"))
    return next((name for python_type, name in (*names, *others) if isinstance(value, python_type)), "types.Null")
