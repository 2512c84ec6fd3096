"""What is public: the names are those listed here, the guide has each of them, and guides and examples use no others.

Others build on these names. One that is to go needs a line in CHANGELOG.md; one that is added, a line here and a place
in the tables of docs/guide/plugins.md.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "plugins.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

PUBLIC = {
    "bayplan": "Cluster InvalidObject __version__ compare load_recording load_trace simulate sweep write_report",
    "bayplan.plugin": """
        PerNodePlugin NodeView
        PodInfo View NodeTable
        IntArray BoolArray RowArray Rows ALL_ROWS ABSENT row_array every_row distinct
        Reads OtherNodes SKIP Skip Ready PreFiltered State
        Status Code SUCCESS unschedulable unresolvable CycleError
        MAX_NODE_SCORE default_normalize Wait WaitingPod Pending AssumedPod
        PostFiltered Proposal Found Failure
        PodGroup PodGroupInfo GroupPlacement PodGroupAssignments PodGroupPostFiltered GroupProposal GroupFailure
        ClusterEvent EventResource ActionType ClusterEventWithHint Hint EnqueueExtensions
        Object Node Pod Action Emit
        PreEnqueuePlugin QueueSortPlugin PreFilterPlugin FilterPlugin PostFilterPlugin PreScorePlugin ScorePlugin
        ReservePlugin PermitPlugin PreBindPlugin BindPlugin PostBindPlugin
        PlacementGeneratePlugin PlacementScorePlugin PodGroupPostFilterPlugin NormalizePlacementsPlugin
        UnpreparedPlugin WhatIfPlugin NormalizePlugin UnreservePlugin AnsweringPlugin PreFlightPlugin
        SpeedHints NodeGroups sign_constraints sign_requests UNFORESEEN OWN_PODS_DECIDE
    """,
    "bayplan.testing": """
        check_plugin RULES compare_plugins small_scene Scene POD_PATTERNS NODE_PATTERNS GPU builders would_wake try_pod
        play_group_story
        cluster ClusterUser RequestFaults LiveCluster Refusal
    """,
}
IMPORTABLE = {*PUBLIC, "numpy", *sys.stdlib_module_names}


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_exports_what_is_listed(module: str) -> None:
    face = import_module(module)
    assert sorted(face.__all__) == sorted(PUBLIC[module].split())
    assert [name for name in face.__all__ if not hasattr(face, name)] == []


@pytest.mark.parametrize("module", ["bayplan.plugin", "bayplan.testing"])
def test_the_guide_has_every_name_in_its_tables(module: str) -> None:
    rows = _table(f"From `{module}`")
    assert {name for names, _ in rows for name in re.findall(r"`(\w+)`", names)} == set(PUBLIC[module].split())
    assert all(meaning for _, meaning in rows)


def _table(heading: str) -> list[tuple[str, str]]:
    """The rows of the guide's table with this heading."""
    _, _, below = GUIDE.read_text(encoding="utf-8").partition(f"| {heading} | What it is |\n| --- | --- |\n")
    cells = [line.split("|") for line in below.partition("\n\n")[0].splitlines()]
    return [(names, meaning.strip()) for _, names, meaning, _ in cells]


def snippets() -> Iterator[tuple[str, str]]:
    """Every piece of Python that a reader is shown: where it is, and its text."""
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        for number, block in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), start=1):
            yield f"{page.relative_to(ROOT).as_posix()}, block {number}", block


@pytest.mark.parametrize(("where", "text"), [pytest.param(*snippet, id=snippet[0]) for snippet in snippets()])
def test_guides_and_examples_import_only_what_is_public(where: str, text: str) -> None:
    assert [module for module, names in _imports(text) if not _is_public(module, names)] == []


def _imports(text: str) -> Iterator[tuple[str, list[str]]]:
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Import):
            yield from ((alias.name, []) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield statement.module or "", [alias.name for alias in statement.names]


def _is_public(module: str, names: list[str]) -> bool:
    if module in PUBLIC:
        return set(names) <= set(PUBLIC[module].split())
    root = module.partition(".")[0]
    return root != "bayplan" and root in IMPORTABLE


def test_importing_the_package_loads_none_of_its_parts() -> None:
    """`bayplan --help` and scripts that need one part do not wait for the others."""
    code = "import sys, bayplan; print([name for name in sys.modules if name.startswith('bayplan.')])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
