"""What the documents say is so: files and tests they name exist, examples run, transcripts are what is printed."""

from __future__ import annotations

import ast
import html
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.unit.analysis.simulation.replaying.recorded_worlds import record
from tests.unit.analysis.simulation.worlds import cluster, nodes, workload

from bayplan.analysis.answers.audit.rules import RULES as AUDIT_RULES
from bayplan.analysis.input_gaps import DUMP_COMMAND
from bayplan.cli import demo
from bayplan.cli.main import run
from bayplan.testing.check_plugin import RULES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "bayplan"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CHANGES = ROOT / "examples" / "whatif"
#: Picture -> the command whose output it shows, on the demo's files unless it names others.
PICTURES = {
    "explain": ("explain", demo.URGENT_POD),
    "exposure": ("exposure", "--details"),
    "capacity": ("capacity", "--pod", "cpu=500m,memory=1Gi"),
    "fix": ("fix", demo.URGENT_POD),
    "whatif": ("whatif", "--apply", f"{CHANGES}/search.yaml", "--details", "-f", f"{CHANGES}/cluster.yaml"),
    "drain": ("drain", "-l", "pool=a", "--rolling", "--details", "-f", f"{CHANGES}/cluster.yaml"),
}

#: Lines, at most.
LIMITS = {"README.md": 100, "ARCHITECTURE.md": 350, **{f"docs/decisions/{page.name}": 40 for page in DECISIONS}}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`\n]+)`")
NAMED_TEST = re.compile(r"(tests/[\w/]+\.py)((?:::\w+)+)")
FILE = re.compile(r"(src|tests|docs|examples)/[\w./-]+|[\w./-]+(\.(py|md|yaml|toml|svg|lock)|/)")
FAMILIES = re.compile(r"parity: ([\w, ]+)")

#: Named as examples of files that a reader would add, or as a user's own.
EXAMPLES = {
    "src/bayplan/core/plugins/my_plugin.py",
    "src/bayplan/cli/NAME.py",
    "tests/unit/core/plugins/test_my_plugin.py",
    "tests/oracle/test_my_plugin_oracle.py",
    "conftest.py",
    "MANIFEST.yaml",
    # Written by who follows a tutorial.
    *("checkout.yaml", "priorities.yaml", "reports.yaml", "training.yaml", "evaluation.yaml", "urgent.yaml"),
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    return FENCE.sub("", text_of(page))


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(text_of(page)) if found == language]


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.mark.parametrize("name", LIMITS)
def test_length(name: str) -> None:
    assert len(text_of(ROOT / name).splitlines()) <= LIMITS[name]


def test_readme_names_the_two_commands() -> None:
    assert {"make run", "make test"} <= set(QUOTED.findall(text_of(ROOT / "README.md")))


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    targets = [link.partition("#")[0] for link in LINK.findall(prose_of(page)) if "://" not in link]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


@every_page
def test_files_named_exist(page: Path) -> None:
    named = [quoted for quoted in QUOTED.findall(prose_of(page)) if FILE.fullmatch(quoted)]
    assert [name for name in named if name not in EXAMPLES and not exists(name)] == []


def exists(name: str) -> bool:
    """As a path from the root or the package, or as the bare name of some file in the package."""
    if (ROOT / name).exists() or (SOURCE / name).exists() or (SOURCE / "core" / name).exists():
        return True
    folder = name.rstrip("/")
    return "/" not in folder and any(SOURCE.rglob(folder))


@every_page
def test_tests_named_exist(page: Path) -> None:
    named = NAMED_TEST.findall(text_of(page))
    assert [path + names for path, names in named if names not in names_of_tests(ROOT / path)] == []


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    """Tests of a file as pytest names them: `::test_x`, `::TestY::test_z`."""
    return frozenset(_tests_of(ast.parse(text_of(path)).body, "")) if path.is_file() else frozenset()


def _tests_of(statements: list[ast.stmt], prefix: str) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
            yield f"{prefix}::{statement.name}"
        elif isinstance(statement, ast.ClassDef):
            yield from _tests_of(statement.body, f"{prefix}::{statement.name}")


def test_parity_families_named_exist() -> None:
    cases = {path.name.removesuffix(".jsonl.xz") for path in (ROOT / "tests" / "parity" / "cases").iterdir()}
    lists = FAMILIES.findall(text_of(ROOT / "docs" / "parity.md"))
    named = {family.strip() for families in lists for family in families.split(",")} - {"FAMILY"}
    assert named
    assert named <= cases


@pytest.fixture
def beside_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader would sit: in a folder with the demo's files and the examples."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples", ignore=shutil.ignore_patterns("__pycache__"))
    demo.write_files(Path("demo-cluster"))
    record(Path("week.rec"), cluster(*nodes(3), workload("web", 3, "1", "low")))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
@pytest.mark.usefixtures("beside_the_demo")
def test_python_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, name_of(page), "exec"), names)


def test_the_guide_shows_the_plugins_that_are_in_the_example() -> None:
    """Word for word, so that what was checked on the page holds for the file as well."""
    pages = {
        "plugins.md": [ROOT / "examples" / "gpu_packing", ROOT / "examples" / "plugin_points"],
        "group-plugins.md": [ROOT / "examples" / "rack_aware"],
    }
    for name, folders in pages.items():
        page = ROOT / "docs" / "guide" / name
        example = "".join(text_of(folder / f"{folder.name}.py") for folder in folders)
        shown = [block for block in blocks(page, "python") if block.startswith("class ")]
        assert shown
        assert [block.splitlines()[0] for block in shown if block not in example] == []
        settings = [block for block in blocks(page, "yaml") if block.startswith("apiVersion")]
        for folder, shown_settings in zip(folders, settings, strict=True):
            assert shown_settings in text_of(folder / "scheduler.yaml")


def test_the_guide_lists_the_rules_for_plugins() -> None:
    page = text_of(ROOT / "docs" / "guide" / "plugins.md")
    assert [rule for rule, says in RULES.items() if f"| `{rule}` | {says} |" not in page] == []


def test_the_guide_lists_the_rules_of_an_audit() -> None:
    page = text_of(ROOT / "docs" / "guide" / "audit.md")
    rows = (f"| `{name}` | {rule.level} | {rule.title} | {rule.fix} |" for name, rule in AUDIT_RULES.items())
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name_of)
@pytest.mark.usefixtures("beside_the_demo")
def test_transcripts_are_what_is_printed(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A transcript may leave out lines, but not change or reorder them."""
    for block in blocks(page, "console"):
        command, *shown = block.splitlines()
        assert command.startswith("$ bayplan ")
        run(command.removeprefix("$ bayplan ").split())
        printed = iter(capsys.readouterr().out.splitlines())
        assert [line for line in shown if line not in printed] == [], f"{command}: not printed, or not in this order"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_what_is_printed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Draw it anew with docs/images/draw.py when this fails."""
    demo.write_files(tmp_path)
    command = PICTURES[name]
    run([*command, *(() if "-f" in command else ("-f", str(tmp_path)))])
    printed = _without_blanks(capsys.readouterr().out.replace(str(tmp_path), "demo-cluster"))
    picture = text_of(ROOT / "docs" / "images" / f"{name}.svg")
    drawn = _without_blanks(html.unescape(re.sub(r"<[^>]+>", "", picture)))
    assert printed in drawn


def _without_blanks(text: str) -> str:
    return re.sub(r"\s+", "", text)


DUMP = re.compile(r"kubectl get [\w,]*,[\w,]* -A -o json")


def test_every_dump_command_is_the_complete_one() -> None:
    """A shorter one leads to wrong answers."""
    said = {name_of(page): DUMP.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: found for name, found in said.items() if set(found) - {DUMP_COMMAND}} == {}
    assert said["docs/guide/explain.md"]
