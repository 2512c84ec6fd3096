"""No function is longer than a screen: at most 50 lines from `def` to its end, the docstring not counted."""

from __future__ import annotations

import ast

from tests.tidy.source import Function, Tree, read_tree

LINES_MAX = 50


def too_long(tree: Tree) -> set[str]:
    return {where for where, function in tree.functions() if length(function) > LINES_MAX}


def length(function: Function) -> int:
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None and first.end_lineno is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def test_functions_have_at_most_fifty_lines() -> None:
    assert too_long(read_tree()) == set()


def test_a_longer_function_is_found_wherever_it_stands() -> None:
    body = "\n".join(f"        x{number} = {number}" for number in range(LINES_MAX))
    tree = Tree.of(long=f"class A:\n    def f(self):\n{body}\n")
    assert too_long(tree) == {"long.A.f"}


def test_a_docstring_does_not_count() -> None:
    text = "\n".join(["    line"] * LINES_MAX)
    assert too_long(Tree.of(short=f'def f():\n    """Says much.\n\n{text}\n    """\n    return 1\n')) == set()
