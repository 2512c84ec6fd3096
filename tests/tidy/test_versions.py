"""What differs between Kubernetes versions has a name: the core writes no version number outside `release.py`."""

from __future__ import annotations

import ast
import re

from tests.tidy.source import Tree, read_tree

NUMBER = re.compile(r"v?1\.\d\d(\.\d+)?")


def version_numbers(tree: Tree) -> set[str]:
    """Modules of the core with a text that is nothing but a version."""
    return {
        module
        for module, parsed in tree.modules.items()
        if module.startswith("bayplan.core.")
        for part in ast.walk(parsed)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and NUMBER.fullmatch(part.value)
    }


def test_only_the_releases_name_a_version() -> None:
    assert version_numbers(read_tree()) == {"bayplan.core.release"}


def test_a_comparison_is_found() -> None:
    tree = Tree.of(bayplan__core__cache='if version == "1.37": pass')
    assert version_numbers(tree) == {"bayplan.core.cache"}
