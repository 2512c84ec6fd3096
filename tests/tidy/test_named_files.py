"""Files that sources and guides speak of are there: a reader who follows a name should not look for what has moved."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator

import pytest
from tests.tidy.source import ROOT

# Not part of a pattern, a placeholder or a longer path of somebody else's.
NAME = re.compile(r"(?<![\w./{}*-])(?:\w+/)*\w+\.py\b")
PLACEHOLDERS = {"path/to/file.py", "my_plugin.py", "test_my_plugin.py", "test_my_plugin_oracle.py", "NAME.py"}


def endings(files: Iterable[str]) -> set[str]:
    """What the files may be called: their paths from any folder on."""
    split = [file.split("/") for file in files]
    return {"/".join(parts[start:]) for parts in split for start in range(len(parts))}


def missing(text: str, known: set[str]) -> Iterator[str]:
    for name in NAME.findall(text):
        if name not in known and name not in PLACEHOLDERS and name.rpartition("/")[2] not in PLACEHOLDERS:
            yield name


def test_files_that_are_named_are_there() -> None:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [file for file in listed.stdout.split() if (ROOT / file).is_file()]
    known = endings(files)
    read = [f for f in files if f.startswith("src/") and f.endswith((".py", ".c"))]
    read += ["CONTRIBUTING.md", "ARCHITECTURE.md"]
    found = {f"{file}: {name}" for file in read for name in missing((ROOT / file).read_text(encoding="utf-8"), known)}
    assert not found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see `core/cycle.py`", []),
        ("see `core/gone.py`, cycle.py and gone.py.", ["core/gone.py", "gone.py"]),
        ("`other/cycle.py`", ["other/cycle.py"]),
        ("path/to/file.py, src/core/plugins/my_plugin.py, *_hints.py, cycle.pyc", []),
    ],
)
def test_a_path_is_known_by_its_end(text: str, names: list[str]) -> None:
    assert list(missing(text, endings(["src/core/cycle.py"]))) == names
