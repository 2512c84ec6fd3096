"""No module is imported by its name to get around the layers, which import-linter cannot see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import Tree, read_tree

ALLOWED = {
    "bayplan": "the public names, each loaded when it is asked for",
    "bayplan.cli.main": "its own commands, each loaded when it is asked for",
    "bayplan.config.plugin_loading": "plugins from outside, by the name a configuration gives",
    "bayplan.testing": "its own parts that need an API server, each loaded when it is asked for",
}


def importers_by_name(tree: Tree) -> set[str]:
    """Modules that import by name anything but a package from outside that may be missing."""
    return {
        module for module, parsed in tree.modules.items() if any(_is_hidden(name) for name in _imported_names(parsed))
    }


def _imported_names(parsed: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(parsed):
        match node:
            case ast.Call(func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module")):
                yield node.args[0]


def _is_hidden(name: ast.expr) -> bool:
    return not (isinstance(name, ast.Constant) and not str(name.value).startswith("bayplan"))


def test_only_commands_and_plugins_are_imported_by_name() -> None:
    assert importers_by_name(read_tree()) - ALLOWED.keys() == set()


def test_imports_by_name_are_found() -> None:
    tree = Tree.of(
        report='import_module("bayplan.report.page").write()',
        computed='importlib.import_module(f"bayplan.{name}")',
        outside='import_module("pyarrow.parquet")',
        plain="import bayplan.model",
    )
    assert importers_by_name(tree) == {"report", "computed"}
