"""Where to find a kubectl of a certain release: as `kubectl-1.36` or `kubectl` on the path, or in a `bin` beside the
repository, as test data is in `shared`."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2].parent / "bin"


@cache
def _found(release: str) -> str:
    for name in (f"kubectl-{release}", "kubectl"):
        program = shutil.which(name, path=None) or shutil.which(name, path=str(_BESIDE))
        if program is not None and _release_of(program) == release:
            return program
    return ""


def _release_of(program: str) -> str:
    said = subprocess.run([program, "version", "--client"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v(\d+\.\d+)\.|Minor:\"(\d+)\"", said)
    return "" if found is None else found[1] or f"1.{found[2]}"


def kubectl(release: str) -> str:
    """The program; skips the test where there is none."""
    program = _found(release)
    if not program:
        pytest.skip(f"no kubectl {release} on the path")
    return program
