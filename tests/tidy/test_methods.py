"""A public method is a `def`: it can be found, has a signature, and says in its docstring what it does.

None is an attribute that is assigned a function. What others set to be told of something (`on_...`) is no method.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.tidy.source import Function, Tree, read_tree


def assigned_methods(tree: Tree) -> set[str]:
    return {
        f"{module}.{node.name}.{name}"
        for module, parsed in tree.modules.items()
        for node in ast.walk(parsed)
        if isinstance(node, ast.ClassDef)
        for name in _assigned(node)
    }


def _assigned(node: ast.ClassDef) -> Iterator[str]:
    own = {item.name for item in node.body if isinstance(item, Function) and not _is_property(item)}
    for part in ast.walk(node):
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                name = _own_name(target)
                if name and not name.startswith(("_", "on_")) and _is_function(part.value, own):
                    yield name


def _own_name(target: ast.expr) -> str:
    """`x` of `self.x`."""
    return target.attr if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" else ""


def _is_property(function: ast.AST) -> bool:
    return any("property" in ast.unparse(each) for each in getattr(function, "decorator_list", ()))


def _is_function(value: ast.expr, own: set[str]) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_function(value.body, own) or _is_function(value.orelse, own)
    return (
        isinstance(value, ast.Lambda)
        or (isinstance(value, ast.Call) and ast.unparse(value.func) in ("partial", "functools.partial"))
        or (isinstance(value, ast.Attribute) and ast.unparse(value.value) == "self" and value.attr in own)
        or (isinstance(value, ast.Attribute) and value.attr in ("get", "append", "__contains__", "__getitem__"))
    )


#: Where a function stands for what it would give, so that it need not be kept.
ALLOWED = {"bayplan.core.decision._NothingFits.diagnose"}


def test_a_public_method_is_a_def() -> None:
    assert assigned_methods(read_tree()) == ALLOWED


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("self.find = self._names.get", {"a.A.find"}),
        ("self.find = lambda name: name", {"a.A.find"}),
        ("self.find = self._find if quick else self._find_slowly", {"a.A.find"}),
        ("self.find: Callable[[str], str] = partial(look, self)", {"a.A.find"}),
        ("self.on_change = lambda: None", set()),
        ("self._find = self._names.get", set()),
        ("self.name = self._name", set()),
    ],
)
def test_an_assigned_method_is_found(body: str, found: set[str]) -> None:
    text = f"class A:\n    def __init__(self):\n        {body}\n    def _find(self): ..."
    assert assigned_methods(Tree.of(a=text)) == found
