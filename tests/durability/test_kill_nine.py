"""A server that is killed under load loses nothing that it acknowledged; `benchmarks/kill_nine.py` does it 100."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "kill_nine.py"


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--rounds", "4", "--seed", "3"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
