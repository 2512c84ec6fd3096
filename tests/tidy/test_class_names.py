"""A public class name means one thing: no two modules of the product define the same one."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest
from tests.tidy.source import Tree, read_tree

SHARED = {
    "Extender": "upstream's name of both: what a configuration says of an extender, and the scheduler's view of it",
    "Workload": "Kubernetes' name of both: templates of pod groups, and what a benchmark makes a scheduler do",
    "NodeAffinity": "Kubernetes' names of both: a part of a pod's spec, and the plugin that obeys it",
}
"""Names with two meanings that are not ours to change, with the reason."""


def shared_names(tree: Tree) -> dict[str, list[str]]:
    """Public class names that several modules define, with these modules."""
    places: dict[str, set[str]] = defaultdict(set)
    for module, parsed in tree.modules.items():
        for node in ast.walk(parsed):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(module)
    return {name: sorted(modules) for name, modules in sorted(places.items()) if len(modules) > 1}


def test_a_public_class_name_means_one_thing() -> None:
    found = shared_names(read_tree())
    assert {name: modules for name, modules in found.items() if name not in SHARED} == {}
    assert SHARED.keys() <= found.keys(), "an exception that is needed no longer"


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("class Fate: ...", "class Fate: ...", {"Fate": ["a", "b"]}),
        ("class Fate: ...", "class Outcome:\n    class Fate: ...", {"Fate": ["a", "b"]}),
        ("class Fate: ...", "from a import Fate", {}),
        ("class _Fate: ...", "class _Fate: ...", {}),
    ],
)
def test_a_second_definition_is_found(first: str, second: str, shared: dict[str, list[str]]) -> None:
    assert shared_names(Tree.of(a=first, b=second)) == shared
