"""Where to find a kubectl of a certain release: as `kubectl-1.36` or `kubectl` on the path, or in a `bin` beside the
repository, as test data is in `shared`."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[2].parent / "bin"


@cache
def kubectl(release: str) -> str:
    """The program; empty where there is none."""
    for name in (f"kubectl-{release}", "kubectl"):
        for folders in (None, str(_BESIDE)):
            program = shutil.which(name, path=folders)
            if program is not None and _release_of(program) == release:
                return program
    return ""


def _release_of(program: str) -> str:
    said = subprocess.run([program, "version", "--client"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v(\d+\.\d+)\.", said)
    return "" if found is None else found[1]
