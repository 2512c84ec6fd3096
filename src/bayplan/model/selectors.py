"""Label and node selectors, compiled once into hashable values that match fast.

Equal selectors compile to equal values, whatever the order they were written in, so a compiled selector can
be the key of a table. A selector that is absent matches nothing, an empty one everything. Invalid ones raise
`SelectorError` with the sentences of Kubernetes; what follows from that is for the caller to decide.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import ClassVar

import msgspec

from bayplan.model.conversion import FieldFault, child
from bayplan.model.meta import LabelSelector
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
LABEL_OPERATORS = frozenset({IN, NOT_IN, EXISTS, DOES_NOT_EXIST})
NODE_OPERATORS = LABEL_OPERATORS | {GT, LT}
NODE_NAME_FIELD = "metadata.name"

_GO_ESCAPES = dict(zip('"\\\a\b\f\n\r\t\v', (rf"\{letter}" for letter in '"\\abfnrtv'), strict=True))
_GO_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")


class SelectorError(ValueError):
    """A selector that Kubernetes does not accept, for one reason or for several."""

    @property
    def faults(self) -> tuple[str, ...]:
        return self.args

    def __str__(self) -> str:
        return joined_faults(self.args)


def joined_faults(faults: Iterable[str]) -> str:
    """Several faults as Kubernetes lists them in one message: each once, in brackets if there are more than one."""
    distinct = [*dict.fromkeys(faults)]
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


class LabelRequirement(msgspec.Struct, frozen=True, cache_hash=True, gc=False, order=True):
    """One condition on one key; `values` are sorted and distinct."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """An absent key fails every operator but NotIn and DoesNotExist."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number = parse_go_integer(value)
        if number is None:
            return False
        bound = int(self.values[0])
        return number > bound if self.operator == GT else number < bound


class CompiledSelector(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """All requirements must match; `selects_nothing` marks the selector that was never given."""

    requirements: tuple[LabelRequirement, ...] = ()
    selects_nothing: bool = False

    NOTHING: ClassVar["CompiledSelector"]
    EVERYTHING: ClassVar["CompiledSelector"]

    @property
    def is_empty(self) -> bool:
        """Whether it restricts nothing; the selector of nothing is not empty."""
        return not self.requirements and not self.selects_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        if self.selects_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def narrowed_to(self, labels: Mapping[str, str]) -> "CompiledSelector":
        """This selector and equality with each of the labels; the selector of nothing stays what it is."""
        if self.selects_nothing or not labels:
            return self
        return _selector([*self.requirements, *_equalities(labels)])


CompiledSelector.NOTHING = CompiledSelector(selects_nothing=True)
CompiledSelector.EVERYTHING = CompiledSelector()


class CompiledNodeTerm(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """One node selector term: conditions on labels and on the node's name, all of which must match."""

    labels: tuple[LabelRequirement, ...] = ()
    names: tuple[LabelRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """A term without conditions matches nothing; conditions on the name are ignored for a node without one."""
        if not self.labels and not self.names:
            return False
        if not all(requirement.matches(labels) for requirement in self.labels):
            return False
        return not name or all(requirement.matches({NODE_NAME_FIELD: name}) for requirement in self.names)


def compile_label_selector(selector: LabelSelector | None) -> CompiledSelector:
    """None selects nothing, an empty selector everything; SelectorError for an invalid one."""
    if selector is None:
        return CompiledSelector.NOTHING
    return _compile(
        tuple(sorted(selector.match_labels.items())),
        tuple((item.key, item.operator, tuple(item.values)) for item in selector.match_expressions),
    )


def compile_match_labels(labels: Mapping[str, str]) -> CompiledSelector:
    """Equality with every label, unchecked as upstream leaves it; no labels select everything."""
    return _selector(_equalities(labels)) if labels else CompiledSelector.EVERYTHING


def compile_node_requirement(requirement: NodeSelectorRequirement, path: str = "") -> LabelRequirement:
    """A condition on node labels; `path` is its location, for the message."""
    faults = node_requirement_faults(requirement, path)
    return _requirement(requirement.key, requirement.operator, tuple(requirement.values), faults)


def node_requirement_faults(requirement: NodeSelectorRequirement, path: str = "") -> list[FieldFault]:
    """All that Kubernetes finds wrong with a condition on node labels."""
    if requirement.operator not in NODE_OPERATORS:
        return [_not_supported(path, requirement.operator, (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT))]
    return _requirement_faults(requirement.key, requirement.operator, tuple(requirement.values), path)


def compile_node_field(requirement: NodeSelectorRequirement, path: str = "") -> LabelRequirement:
    """A condition on a field of the node. Only the name has a value; every other field is empty on every node."""
    faults = node_field_faults(requirement, path)
    if faults:
        raise _refused(faults)
    if requirement.key == NODE_NAME_FIELD:
        return LabelRequirement(requirement.key, requirement.operator, tuple(requirement.values))
    always_holds = (requirement.values[0] == "") == (requirement.operator == IN)
    return LabelRequirement(NODE_NAME_FIELD, NOT_IN if always_holds else IN)


def node_field_faults(requirement: NodeSelectorRequirement, path: str = "") -> list[FieldFault]:
    """What is wrong with a condition on a field of a node, whichever field it is."""
    if requirement.operator not in (IN, NOT_IN):
        return [_not_supported(path, requirement.operator, (IN, NOT_IN))]
    if len(requirement.values) != 1:
        return [_invalid(child(path, "values"), requirement.values, "must have one element")]
    return []


def compile_node_term(term: NodeSelectorTerm, path: str = "") -> CompiledNodeTerm:
    """Both kinds of conditions of a term; SelectorError when any is invalid."""
    expressions, fields = child(path, "matchExpressions"), child(path, "matchFields")
    faults: list[str] = []
    labels = list(_compiled(compile_node_requirement, term.match_expressions, expressions, faults))
    names = list(_compiled(compile_node_field, term.match_fields, fields, faults))
    if faults:
        raise SelectorError(*faults)
    return CompiledNodeTerm(_canonical(labels), _canonical(names))


def _compiled(
    compile_one: Callable[[NodeSelectorRequirement, str], LabelRequirement],
    requirements: Iterable[NodeSelectorRequirement],
    path: str,
    faults: list[str],
) -> Iterator[LabelRequirement]:
    """Those that are valid; `faults` gets all that is wrong with the others."""
    for position, requirement in enumerate(requirements):
        try:
            yield compile_one(requirement, f"{path}[{position}]")
        except SelectorError as problem:
            faults += problem.faults


def parse_go_integer(text: str) -> int | None:
    """A base-10 int64 as Go's strconv.ParseInt reads it (a sign, no blanks or underscores), or None."""
    if not _GO_INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


@lru_cache(maxsize=1_024)
def _compile(
    labels: tuple[tuple[str, str], ...], expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> CompiledSelector:
    requirements = [_checked_requirement(key, IN, (value,)) for key, value in labels]
    for key, operator, values in expressions:
        if operator not in LABEL_OPERATORS:
            raise SelectorError(f"{quoted(operator)} is not a valid label selector operator")
        requirements.append(_checked_requirement(key, operator, values))
    return _selector(requirements)


def _equalities(labels: Mapping[str, str]) -> list[LabelRequirement]:
    return [LabelRequirement(key, IN, (value,)) for key, value in labels.items()]


def _selector(requirements: Iterable[LabelRequirement]) -> CompiledSelector:
    return CompiledSelector(_canonical(requirements))


def _canonical(requirements: Iterable[LabelRequirement]) -> tuple[LabelRequirement, ...]:
    return tuple(sorted(set(requirements)))


def _checked_requirement(key: str, operator: str, values: tuple[str, ...]) -> LabelRequirement:
    return _requirement(key, operator, values, _requirement_faults(key, operator, values, ""))


def _requirement(key: str, operator: str, values: tuple[str, ...], faults: list[FieldFault]) -> LabelRequirement:
    if faults:
        raise _refused(faults)
    if operator in (GT, LT):
        return LabelRequirement(key, operator, (str(int(values[0])),))
    return LabelRequirement(key, operator, tuple(sorted(set(values))))


def _refused(faults: list[FieldFault]) -> SelectorError:
    return SelectorError(*(f"{path}: {message}" for path, message in faults))


def _requirement_faults(key: str, operator: str, values: tuple[str, ...], path: str) -> list[FieldFault]:
    return [*_key_faults(key, path), *_operand_faults(operator, values, path), *_value_faults(key, values, path)]


def _key_faults(key: str, path: str) -> list[FieldFault]:
    faults = label_key_faults(key)
    return [_invalid(child(path, "key"), key, "; ".join(faults))] if faults else []


def _operand_faults(operator: str, values: tuple[str, ...], path: str) -> list[FieldFault]:
    at = child(path, "values")
    if operator in (IN, NOT_IN):
        if not values:
            return [_invalid(at, values, "for 'in', 'notin' operators, values set can't be empty")]
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            return [_invalid(at, values, "values set must be empty for exists and does not exist")]
    else:
        return _bound_faults(values, at)
    return []


def _bound_faults(values: tuple[str, ...], at: str) -> list[FieldFault]:
    faults = []
    if len(values) != 1:
        faults.append(_invalid(at, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
    faults += [
        _invalid(f"{at}[{position}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
        for position, value in enumerate(values)
        if parse_go_integer(value) is None
    ]
    return faults


def _value_faults(key: str, values: tuple[str, ...], path: str) -> list[FieldFault]:
    at = child(path, "values")
    return [
        _invalid(f"{at}[{position}][{key}]", value, "; ".join(faults))
        for position, value in enumerate(values)
        if (faults := label_value_faults(value))
    ]


def _not_supported(path: str, operator: str, supported: tuple[str, ...]) -> FieldFault:
    listed = ", ".join(quoted(name) for name in supported)
    return child(path, "operator"), f"Unsupported value: {quoted(operator)}: supported values: {listed}"


def _invalid(at: str, value: str | Iterable[str], message: str) -> FieldFault:
    # An empty list reaches upstream as a nil slice, which it shows as null.
    shown = quoted(value) if isinstance(value, str) else _listed(list(value) or None)
    return at, f"Invalid value: {shown}: {message}"


def _listed(values: list[str] | None) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def quoted(text: str) -> str:
    """The text as Go's strconv.Quote writes it."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in _GO_ESCAPES:
        return _GO_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
