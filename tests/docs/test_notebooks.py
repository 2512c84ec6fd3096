"""The notebooks of `examples/notebooks`: every cell runs, and what it ends with shows itself."""

from __future__ import annotations

import ast
import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
#: What an answer shows at most, as text and as HTML.
REPR_MAX, HTML_MAX = 1_000, 50_000


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def shown_by(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell as Jupyter does; gives the value of its last line if that is an expression."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], ast.Expr(ast.Constant(None))
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that need a library are left out where it is missing."""
    examples = shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(examples / "notebooks")
    names: dict[str, Any] = {}
    for cell in code_cells(path):
        if not all(map(find_spec, cell["metadata"].get("tags", ()))):
            continue
        shown = shown_by(cell["source"], names)
        assert shown is None or 0 < len(repr(shown)) <= REPR_MAX, cell["source"]
        as_html = getattr(shown, "_repr_html_", None)
        assert as_html is None or 0 < len(as_html()) <= HTML_MAX, cell["source"]
    assert names["seen"][-1] == 1.0
    assert len(names["result"].pods["key"]) > 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_output(path: Path) -> None:
    assert [cell["id"] for cell in code_cells(path) if cell["outputs"] or cell["execution_count"]] == []


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
