"""Expressions of policies: compiled once, evaluated for each write.

A `Compiler` knows what the expressions of one policy may refer to (`object`, `request`, `variables.…`), and gives each
as an `Expression`, with what is wrong with it if it does not compile. An `Activation` holds the values for one write
and the budget that evaluations draw on. Upstream: apiserver/pkg/admission/plugin/cel (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from bayplan.apiserver.custom_resources.rules import OUT_OF_BUDGET
from bayplan.apiserver.policies.object_literals import Literals
from bayplan.apiserver.policies.object_types import DYN, TEXT, FieldType, ObjectTypes
from bayplan.apiserver.storage.entries import Document
from bayplan.model.cel import authorization
from bayplan.model.cel.authorization import AUTHORIZER, RESOURCE_CHECK, Authorization
from bayplan.model.cel.environment import new_environment
from bayplan.model.cel.evaluation import Program, compile_tree
from bayplan.model.cel.extensions import ESCAPE_KEY
from bayplan.model.cel.syntax import decode
from bayplan.model.cel.values import CelError, Declarations, Lazy

# Upstream: apiserver/pkg/apis/cel/config.go (v1.36).
BUDGET: Final = 10_000_000
MATCH_BUDGET: Final = 2_500_000
ANYTHING: Final = "any"
_UNDECLARED: Final = re.compile(
    r"ERROR: <input>:(\d+):(\d+): undeclared reference to '([\w.]+)' \(in container ''\)\n \| ([^\n]*)\n \| (\.*)\^"
)
_STRUCT: Final = re.compile(r"(undefined field '[^']*') not found in struct '[^']*'")
_GO_NAMES: Final = {"null": "null_type"}
_TYPE_WORD: Final = re.compile(r"\b(?:BOOL|BYTES|DOUBLE|DURATION|DYN|INT|LIST|MAP|NULL|STRING|TIMESTAMP|UINT)\b")


class EvaluationError(Exception):
    """An expression gave no value; the words are upstream's."""


class OutOfBudget(EvaluationError):  # noqa: N818
    """Evaluations have cost too much; no more are made."""


class Expression(NamedTuple):
    """An expression, or why it is none."""

    text: str
    program: Program | None = None
    fault: str = ""
    literals: Literals | None = None


@dataclass(frozen=True)
class Declared:
    """What is declared for the expressions of a policy."""

    has_params: bool = False
    has_authorizer: bool = True
    has_patches: bool = False
    types: Callable[[ObjectTypes], Mapping[str, str]] | None = None
    """Types of `object`, `oldObject` and `params`, where these are known."""


class Compiler:
    """Compiles the expressions of one policy; variables in the order in which they are declared."""

    def __init__(self, declared: Declared, variables: Iterable[Document] = ()) -> None:
        self._declared = declared
        self._types: dict[str, Any] = {}
        self.variables: dict[str, Expression] = {}
        for variable in variables:
            expression, of = self._compiled(variable.get("expression", ""), (ANYTHING,))
            self.variables[variable["name"]] = expression
            self._types[variable["name"]] = of

    def compile(self, text: str, *wanted: str) -> Expression:
        """An expression that must give one of these types."""
        return self._compiled(text, wanted)[0]

    def having(self, **changes: bool) -> Compiler:
        """With other declarations, and the same variables."""
        other = Compiler(replace(self._declared, **changes))  # type: ignore[arg-type]
        other.variables, other._types = self.variables, self._types
        return other

    def _compiled(self, text: str, wanted: tuple[str, ...]) -> tuple[Expression, Any]:
        literals = Literals(text) if self._declared.has_patches else None
        try:
            compiled = self._environment(literals).compile(text if literals is None else literals.checked_text)
        except RuntimeError as error:
            return Expression(text, fault=f"compilation failed: {library_words(str(error))}"), None
        of = _go_type(compiled.return_type().name())
        if ANYTHING not in wanted and of not in wanted:
            listed = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
            return Expression(text, fault=f"must evaluate to {listed} but got {of}"), None
        program = compile_tree(decode(compiled.serialize()))
        return Expression(text, program, literals=literals), compiled.return_type()

    def _environment(self, literals: Literals | None) -> Any:
        declared, types = self._declared, ObjectTypes()
        named = {"request": _declare_request(types), "namespaceObject": _declare_namespace(types)}
        named["variables"] = types.declare("kubernetes_variables", {})
        if declared.types is not None:
            named |= declared.types(types)
        if literals is not None:
            literals.declare(types)

        def variables_of(library: Any, _quantity: Any) -> dict[str, Any]:
            made = {"object": library.DYN, "oldObject": library.DYN}
            if declared.has_params:
                made["params"] = library.DYN
            if declared.has_authorizer:
                made["authorizer"] = library.AbstractType(AUTHORIZER)
                made["authorizer.requestResource"] = library.AbstractType(RESOURCE_CHECK)
            made |= {name: library(of) for name, of in named.items()}
            return made | {f"variables.{name}": of or library.DYN for name, of in self._types.items()}

        return new_environment(variables_of, pool=types.pool(), more=self._functions)

    def _functions(self, library: Any) -> Declarations:
        made = authorization.declarations(library) if self._declared.has_authorizer else []
        if self._declared.has_patches:
            made = [*made, (ESCAPE_KEY, [(False, [library.STRING], library.STRING)])]
        return made


def library_words(text: str) -> str:
    """What is wrong with an expression, in the words of upstream's library rather than this one's."""
    text = text.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    text = _STRUCT.sub(r"\1", text)
    outside = [found[0] for found in _UNDECLARED.finditer(text) if not _is_inside_unknown(found, text)]
    known = _UNDECLARED.sub(lambda found: found[0] if found[0] in outside else "", text)
    return _UNDECLARED.sub(_named_by_its_beginning, re.sub("\n\n+", "\n", known).strip("\n"))


def _is_inside_unknown(found: re.Match[str], text: str) -> bool:
    """Whether it stands in a literal of a type that is not known: upstream's library does not look into these."""
    place = len(found[5])
    for other in _UNDECLARED.finditer(text):
        start = _brace_after(other)
        if start is not None and found[1] == other[1] and start < place < _end_of_braces(other[4], start):
            return True
    return False


def _brace_after(found: re.Match[str]) -> int | None:
    """Where the literal of an object begins that the name belongs to; None if it is no type's."""
    behind = len(found[5]) + len(found[3]) - len(found[3].rpartition(".")[0] + ".") * ("." in found[3])
    opened = re.match(r"\s*\{", found[4][behind:])
    return behind + opened.end() - 1 if opened is not None else None


def _end_of_braces(line: str, start: int) -> int:
    depth = 0
    for place in range(start, len(line)):
        depth += {"{": 1, "}": -1}.get(line[place], 0)
        if not depth:
            return place
    return len(line)


def _named_by_its_beginning(found: re.Match[str]) -> str:
    """Upstream's library says of `a.b` that it does not know `a`, and points there; of `T{…}` to its brace."""
    line, column, name, text, dots = found.groups()
    brace = _brace_after(found)
    if brace is not None:
        first, before = name, len(dots) - brace
    elif name.startswith("."):
        first, before = f".{name[1:].partition('.')[0]}", 0
    else:
        first, before = name.partition(".")[0], len(name.rpartition(".")[0])
    place = f"ERROR: <input>:{line}:{int(column) - before}"
    shown = "." * (len(dots) - before)
    return f"{place}: undeclared reference to '{first}' (in container '')\n | {text}\n | {shown}^"


def _go_type(name: str) -> str:
    text = _TYPE_WORD.sub(lambda match: _GO_NAMES.get(match[0].lower(), match[0].lower()), name)
    return text.replace("<", "(").replace(">", ")")


# Upstream: BuildRequestType and BuildNamespaceType in apiserver/pkg/admission/plugin/cel/compile.go (v1.36).


def _declare_request(types: ObjectTypes) -> str:
    texts = FieldType("string", "list")
    kind = types.declare("kubernetes_GroupVersionKind", dict.fromkeys(("group", "version", "kind"), TEXT))
    resource = types.declare("kubernetes_GroupVersionResource", dict.fromkeys(("group", "version", "resource"), TEXT))
    user_fields = {"username": TEXT, "uid": TEXT, "groups": texts, "extra": FieldType("dyn", "map")}
    user = types.declare("kubernetes_UserInfo", user_fields)
    fields = {
        **dict.fromkeys(("kind", "requestKind"), FieldType(kind)),
        **dict.fromkeys(("resource", "requestResource"), FieldType(resource)),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), TEXT),
        "userInfo": FieldType(user),
        "dryRun": FieldType("bool"),
        "options": DYN,
    }
    return types.declare("kubernetes_AdmissionRequest", fields)


def _declare_namespace(types: ObjectTypes) -> str:
    texts, time, number = FieldType("string", "list"), FieldType("timestamp"), FieldType("int")
    condition_fields = {**dict.fromkeys(("status", "type", "message", "reason"), TEXT), "lastTransitionTime": time}
    condition = types.declare("kubernetes_NamespaceCondition", condition_fields)
    metadata = {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), TEXT),
        **dict.fromkeys(("labels", "annotations"), FieldType("string", "map")),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), time),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), number),
        "finalizers": texts,
    }
    status = {"conditions": FieldType(condition, "list"), "phase": TEXT}
    fields = {
        "metadata": FieldType(types.declare("kubernetes_NamespaceMetadata", metadata)),
        "spec": FieldType(types.declare("kubernetes_NamespaceSpec", {"finalizers": texts})),
        "status": FieldType(types.declare("kubernetes_NamespaceStatus", status)),
    }
    return types.declare("kubernetes_Namespace", fields)


class Activation:
    """What expressions see of one write, and what they may still cost."""

    def __init__(self, values: Mapping[str, Any], variables: Mapping[str, Expression], budget: int = BUDGET) -> None:
        asked = {"authorizer": Authorization(AUTHORIZER), "authorizer.requestResource": Authorization(RESOURCE_CHECK)}
        self._values: dict[str, Any] = {**asked, **values}
        for name, expression in variables.items():
            self._values[f"variables.{name}"] = Lazy(_finder(self, name, expression))
        self.left = budget

    def evaluate(self, expression: Expression) -> Any:
        """The value; raises EvaluationError, and OutOfBudget if there is nothing left to evaluate others with."""
        if expression.program is None:
            raise EvaluationError(f"compilation error: {expression.fault}")
        value = self._metered(expression.program)
        if isinstance(value, CelError):
            raise EvaluationError(f"expression '{expression.text}' resulted in error: {value}")
        return value

    def variable(self, name: str, expression: Expression) -> Any:
        """The value of a variable; raises CelError."""
        if expression.program is None:
            raise CelError(f'composited variable "{name}" fails to compile: {expression.fault}')
        value = self._metered(expression.program)
        if isinstance(value, CelError):
            raise CelError(f'composited variable "{name}" fails to evaluate: {value}')
        return value

    def _metered(self, program: Program) -> Any:
        value, cost = program.metered(self._values)
        self.left -= cost
        if self.left < 0:
            raise OutOfBudget(OUT_OF_BUDGET)
        return value


def _finder(scene: Activation, name: str, expression: Expression) -> Callable[[], Any]:
    return lambda: scene.variable(name, expression)
