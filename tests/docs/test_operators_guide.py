"""The guide for testing operators: its files are written as they stand there, and its tests pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "operators.md"
FILE = re.compile(r"^```(?:py|yaml)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_tests_of_the_guide_pass(tmp_path: Path) -> None:
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert {"fleet.py", "budgets.py", "ships.yaml"} <= files.keys()
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    written = sum(content.count("\ndef test_") for content in files.values())
    assert f"{written} passed" in done.stdout
