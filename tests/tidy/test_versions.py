"""What differs between Kubernetes versions has a name, and whoever needs it is given it.

The core writes no version number outside `release.py`, so that it compares none. Nobody has a default for gates or a
release: to forget them would silently mean those of one version.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from tests.tidy.source import Tree, read_tree

NUMBER = re.compile(r"v?1\.\d\d(\.\d+)?")
OF_A_VERSION = re.compile(r"\b(FeatureGates|Release|KubernetesRelease)\b")
MEANS_A_VERSION = re.compile(r"\b(DEFAULT_GATES|DEFAULT_RELEASE|NEWEST_RELEASE|FIRST|V1_\d+|RELEASES)\b|1\.\d\d")

CHOSEN_BY_USERS = {"bayplan.testing.live_cluster.cluster(kubernetes_version)"}
"""Defaults that users read: as that of an option, they are part of what is promised."""


def version_numbers(tree: Tree) -> set[str]:
    """Modules of the core with a text that is nothing but a version."""
    return {
        module
        for module, parsed in tree.modules.items()
        if module.startswith("bayplan.core.")
        for part in ast.walk(parsed)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and NUMBER.fullmatch(part.value)
    }


def hidden_versions(tree: Tree) -> set[str]:
    """Arguments and fields that mean some version where nothing is given."""
    of_functions = {
        f"{where}({argument.arg})"
        for where, function in tree.functions()
        for argument, default in _defaults(function.args)
        if _hides_a_version(argument.annotation, default)
    }
    of_classes = {
        f"{module}.{node.name}.{ast.unparse(field.target)}"
        for module, parsed in tree.modules.items()
        for node in ast.walk(parsed)
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and field.value and _hides_a_version(field.annotation, field.value)
    }
    return of_functions | of_classes


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    by_place = [*arguments.posonlyargs, *arguments.args]
    yield from zip(by_place[len(by_place) - len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from ((name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value)


def _hides_a_version(annotation: ast.expr | None, default: ast.expr) -> bool:
    text = ast.unparse(default)
    has_type = annotation is not None and OF_A_VERSION.search(ast.unparse(annotation)) is not None
    return (has_type and text != "None") or MEANS_A_VERSION.search(text) is not None


def test_only_the_releases_name_a_version() -> None:
    assert version_numbers(read_tree()) == {"bayplan.core.release"}


def test_a_comparison_is_found() -> None:
    tree = Tree.of(bayplan__core__cache='if version == "1.37": pass')
    assert version_numbers(tree) == {"bayplan.core.cache"}


def test_nothing_means_a_version_by_default() -> None:
    assert hidden_versions(read_tree()) == CHOSEN_BY_USERS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(gates: FeatureGates = ALL): ...", {"a.f(gates)"}),
        ("def f(*, version: str = FIRST): ...", {"a.f(version)"}),
        ("class A:\n    def f(self, release: Release = V1_36): ...", {"a.A.f(release)"}),
        ("class A:\n    release: Release = V1_36", {"a.A.release"}),
        ("class A:\n    settings: Settings = field(default_factory=lambda: load(DEFAULT_RELEASE))", {"a.A.settings"}),
        ("class A:\n    release: Release", set()),
        ("def f(gates: FeatureGates, version: str | None = None): ...", set()),
    ],
)
def test_a_default_is_found(text: str, found: set[str]) -> None:
    assert hidden_versions(Tree.of(a=text)) == found
