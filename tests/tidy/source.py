"""The source tree as syntax trees, for the rules about it; a rule takes a `Tree` and gives what breaks it.

`Tree.of` makes one out of texts, so that every rule can be shown a source that breaks it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Tree:
    """Modules by dotted name."""

    modules: Mapping[str, ast.Module]

    @classmethod
    def of(cls, **sources: str) -> Tree:
        """Modules out of their texts; `__` in a name stands for a dot."""
        return cls({name.replace("__", "."): ast.parse(text) for name, text in sources.items()})

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every function and method with where it stands, `module.Class.method`."""
        for module, tree in self.modules.items():
            yield from _functions(module, tree)


@cache
def read_tree(folder: str = "src") -> Tree:
    """All modules below a folder of the repository."""
    base = ROOT / folder
    return Tree(
        {
            _dotted(path.relative_to(base)): ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(base.rglob("*.py"))
        }
    )


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _functions(where: str, parent: ast.AST) -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, Function):
            yield f"{where}.{node.name}", node
        inner = f"{where}.{node.name}" if isinstance(node, Function | ast.ClassDef) else where
        yield from _functions(inner, node)
