"""A fact is written down once: no two modules give the same value a name.

Text of more than four characters and collections count whatever they are called, and so do numbers of nanoseconds
(from 10^9 on); smaller ones from 1,000 on only under the same name, as limits are equal by chance. Labels, taints and
annotations of Kubernetes are not even written out in two modules of the product.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from tests.tidy.source import Tree, read_tree

APART = {
    "bayplan.admission.priority.HIGHEST_USER_VALUE": "the highest priority of a user's class, no time",
    "bayplan.model.quantity.NANO_PER_UNIT": "of quantities, not of seconds",
    "bayplan.cli.simulate.DEFAULT": "the name of a configuration, not of a namespace",
    "bayplan.analysis.sweeping.axes.DEFAULT_CONFIG": "the name of a configuration, not of a namespace",
    "bayplan.cli.upgrade._CONFIG": "what `--fail-on` takes, not an axis of sweeps",
    "bayplan.apiserver.registry.updating.UINT64_MAX": "of versions of objects, not the largest uint of CEL",
    "bayplan.core.preemption.unstable_order._WORD": "64 bits, not the largest uint of CEL",
    "bayplan.apiserver.registry.versions._OLD_EVENTS": "where events are stored, not a path of the dashboard",
    "bayplan.controllers.workloads.deployment_conditions.AVAILABLE": "a condition, not a phase of volumes",
    "bayplan.apiserver.tables.building._OBJECT": "what a table includes, not a type of policies",
    "bayplan.worlds.starting_nodes._ZONES": "of a cluster that somebody starts, not of a benchmark",
    "bayplan.worlds.kubeconfig.NAME": "of a cluster in a kubeconfig, not of a part of a configuration",
    "bayplan.apiserver.admitting.plugins.service_accounts.DEFAULT_ACCOUNT": "of accounts, not of namespaces",
    "bayplan.controllers.workloads.job_policies.IGNORE": "an action of a Job's policy, not of spread constraints",
    "bayplan.analysis.simulation.results.comparison.PREEMPTION": "a kind of difference, not an end of a pod",
}
"""Constants that equal others by chance, with what they are."""

_PLAIN_TEXT_MAX = 4
_PLAIN_NUMBER_MAX = 999
_TIMES_FROM = 1_000_000_000
_WELL_KNOWN = re.compile(r"[a-z.-]*kubernetes\.io/[A-Za-z-]+")


def repeated_constants(tree: Tree, apart: frozenset[str] = frozenset()) -> list[set[str]]:
    """Constants of different modules with the same value."""
    places: dict[str, set[str]] = {}
    for module, parsed in tree.modules.items():
        for name, value in _constants(parsed):
            place = f"{module}.{name}"
            if place not in apart and (key := _key(name, value)) is not None:
                places.setdefault(key, set()).add(place)
    return [names for names in places.values() if len({name.rpartition(".")[0] for name in names}) > 1]


def _key(name: str, value: object) -> str | None:
    """What two constants share that are the same fact; None for values that mean nothing by themselves."""
    if isinstance(value, str):
        return value if len(value) > _PLAIN_TEXT_MAX else None
    if isinstance(value, int):
        if abs(value) <= _PLAIN_NUMBER_MAX:
            return None
        return str(value) if abs(value) >= _TIMES_FROM else f"{name.strip('_')} {value}"
    if isinstance(value, tuple | frozenset | list | set | dict) and any(isinstance(item, str) for item in value):
        return repr(sorted(map(repr, value)) if isinstance(value, set | frozenset) else value)
    return None


def _constants(module: ast.Module) -> Iterator[tuple[str, object]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = _pairs(node.target, node.value)
        else:
            continue
        for name, value in pairs:
            yield from ((name, known) for known in _evaluated(value))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [pair for each, item in zip(target.elts, value.elts, strict=True) for pair in _pairs(each, item)]
    return [(target.id, value)] if isinstance(target, ast.Name) and target.id.strip("_").isupper() else []


def _evaluated(value: ast.expr) -> Iterator[object]:
    """The value, if it is written out: literals, products of numbers, and frozensets of literals."""
    match value:
        case ast.Call(func=ast.Name(id="frozenset"), args=[inner], keywords=[]):
            yield from (frozenset(known) for known in _evaluated(inner) if isinstance(known, set | tuple | list))
        case ast.BinOp(left=left, op=ast.Mult() | ast.Pow() | ast.Sub() as operator, right=right):
            for first in _evaluated(left):
                for second in _evaluated(right):
                    if isinstance(first, int) and isinstance(second, int):
                        yield _computed(first, operator, second)
        case _:
            try:
                yield ast.literal_eval(value)
            except ValueError:
                return


def _computed(first: int, operator: ast.operator, second: int) -> int:
    if isinstance(operator, ast.Pow):
        return int(first**second)
    return first * second if isinstance(operator, ast.Mult) else first - second


def repeated_names(tree: Tree) -> dict[str, set[str]]:
    """Names in Kubernetes' own domain that several modules write out, with the modules."""
    places: dict[str, set[str]] = {}
    for module, parsed in tree.modules.items():
        for node in ast.walk(parsed):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WELL_KNOWN.fullmatch(node.value):
                places.setdefault(node.value, set()).add(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_no_constant_is_defined_in_two_modules() -> None:
    found = repeated_constants(read_tree(), frozenset(APART))
    assert {name for names in found for name in names} == set()


def test_names_of_kubernetes_are_written_out_once() -> None:
    product = {name: parsed for name, parsed in read_tree().modules.items() if not name.startswith("bayplan.testing")}
    assert repeated_names(Tree(product)) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('LABEL = "app"', 'OTHER = "app"'),
        ("LIMIT = 2_000", "MOST = 2_000"),
        ("EXAMPLES = 5", "EXAMPLES = 5"),
        ("second = 10**9", "SECOND = 10**9"),
    ],
)
def test_values_that_are_equal_by_chance_are_left_alone(first: str, second: str) -> None:
    assert repeated_constants(Tree.of(a=first, b=second)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('NAMESPACE = "default"', 'DEFAULT: Final = "default"'),
        ("SECOND = 1_000_000_000", "_NS = 10**9"),
        ("WAIT = 120 * 1_000_000_000", "X, STALE = 1, 2 * 60 * 1_000_000_000"),
        ('ENDED = frozenset({"Succeeded", "Failed"})', 'DONE = frozenset({"Failed", "Succeeded"})'),
        ("WRITES_MAX = 2_000", "_WRITES_MAX = 2_000"),
    ],
)
def test_a_value_with_a_name_in_two_modules_is_found(first: str, second: str) -> None:
    assert len(repeated_constants(Tree.of(a=first, b=second))) == 1


def test_a_label_written_out_in_two_modules_is_found() -> None:
    tree = Tree.of(a='f("kubernetes.io/os")', b='X = "kubernetes.io/os"', c='"""See kubernetes.io/os here."""')
    assert repeated_names(tree) == {"kubernetes.io/os": {"a", "b"}}
