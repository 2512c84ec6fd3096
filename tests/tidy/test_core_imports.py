"""The decision core imports only what cannot make it depend on time, chance or the outside world.

import-linter forbids modules by name; this test allows by name, so that a new import is a decision.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
CORE = SOURCE / "bayplan" / "core"
ALLOWED = {
    "__future__",
    "abc",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "numpy",
    "operator",
    "re",
    "struct",
    "types",
    "typing",
    "weakref",
}


def imported_modules(source: str) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules.add(node.module or "")
    return modules


def is_allowed(module: str) -> bool:
    if module.startswith("bayplan."):
        return module.split(".")[1] in {"core", "model"} and module != "bayplan.model.reading"
    return module.split(".", maxsplit=1)[0] in ALLOWED and not module.startswith("numpy.random")


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_core_module_imports_only_pure_modules(path: Path) -> None:
    modules = imported_modules(path.read_text(encoding="utf-8"))
    assert sorted(module for module in modules if not is_allowed(module)) == []


@pytest.mark.parametrize("module", ["time", "os.path", "bayplan", "bayplan.config.merge", "bayplan.model.reading"])
def test_impure_modules_are_recognized(module: str) -> None:
    assert imported_modules(f"import {module}") == {module}
    assert not is_allowed(module)
