"""The tutorials, word by word: their files, their commands and what they say that these print.

What is shown may leave out lines. Names that are made up, ages and uids are masked, and a line may go on: releases of
kubectl say a little more or less. The cluster listens on a free port, which no tutorial asks for.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kubectl.masking import masked

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
TUTORIALS = ("preemption", "gangs")
PROGRAM = Path(sys.executable).parent / "bayplan"
BLOCK = re.compile(r"^```(yaml|shell)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITHIN_S = 60.0
ANSWERS = ("bayplan explain", "bayplan capacity", "bayplan fix", "bayplan whatif", "bayplan exposure")
READS = ("kubectl get", "kubectl describe", *ANSWERS)
#: What a person takes at least to read on. The scheduler puts a pod that it could not place off for a second, and for
#: up to another one, as backoffs end together.
READING_S = 2.5


class Reader:
    """Someone who follows the tutorial in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._env = {**os.environ, "HOME": str(folder), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        self._cluster: subprocess.Popen[bytes] | None = None

    def save(self, text: str) -> None:
        (self._folder / text.splitlines()[0].removeprefix("# ")).write_text(text)

    def type(self, command: str, shown: list[str]) -> None:
        """Runs the command; what only looks is run again until it shows what the tutorial does."""
        if command.startswith("bayplan up "):
            self._start(command)
        elif command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self._env[name] = value
        else:
            gives_up_at = time.monotonic() + WITHIN_S
            while (missing := _missing(shown, self._run(command))) and command.startswith(READS):
                assert time.monotonic() < gives_up_at, f"{command}: not printed, or not in this order: {missing}"
                time.sleep(0.2)
            assert missing == [], command

    def leave(self) -> None:
        assert self._cluster is not None
        with self._cluster:
            self._cluster.send_signal(signal.SIGINT)
            assert self._cluster.wait(WITHIN_S) == 0

    def _start(self, command: str) -> None:
        words = [str(PROGRAM), *command.split()[1:], "--listen", "127.0.0.1:0"]
        self._cluster = subprocess.Popen(words, cwd=self._folder, env=self._env, stdout=subprocess.PIPE)
        assert self._cluster.stdout is not None
        assert any(line.startswith(b"export KUBECONFIG=") for line in self._cluster.stdout)

    def _run(self, command: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self._folder, env=self._env, capture_output=True, text=True, check=False
        )
        says_no = command.startswith(ANSWERS) and done.returncode == 1
        assert done.returncode == 0 or says_no, f"{command}: {done.stderr}"
        return masked(done.stdout).splitlines()


def _missing(shown: list[str], printed: list[str]) -> list[str]:
    """Lines that were not printed after those before them."""
    following = iter(printed)
    return [line for line in shown if not any(found.startswith(line) for found in following)]


def _commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with what is shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, masked(shown).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_the_tutorial_works_word_by_word(tutorial: str, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed; in Debian it is in the package kubernetes-client")
    reader = Reader(tmp_path)
    try:
        for language, block in BLOCK.findall((GUIDE / f"{tutorial}.md").read_text(encoding="utf-8")):
            if language == "yaml":
                reader.save(block)
                continue
            time.sleep(READING_S)
            for command, shown in _commands(block):
                reader.type(command, shown)
    finally:
        reader.leave()
