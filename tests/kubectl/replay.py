"""Replays recorded kubectl commands against a running `bayplan up`, and says which answers are the same.

Takes the recording (commands with what a real cluster answered), a kubectl and a kubeconfig; runs one command after
another. Names that were made up by the recorded server are replaced by those that stand in the same place here. A
command that only reads is tried again for a while: the recorded one may have been asked a little later.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kubectl.masking import generated_names, masked

READS = ("get", "describe", "events", "rollout status", "rollout history", "top", "api-resources", "explain")
PATIENCE_S = 3.0
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Recorded:
    """One command and what a real cluster answered."""

    number: int
    story: str
    command: str
    exit: int
    stdout: str
    stderr: str
    stdin: str = ""
    env: dict[str, str] = field(default_factory=dict)
    kubectl: str = ""
    cold: bool = False
    interrupted_after: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What a command answered here."""

    recorded: Recorded
    exit: int
    stdout: str
    stderr: str

    @property
    def is_same(self) -> bool:
        return (
            self.exit == self.recorded.exit
            and masked(self.stdout) == masked(self.recorded.stdout)
            and masked(self.stderr) == masked(self.recorded.stderr)
        )


def load(path: Path) -> list[Recorded]:
    """The recorded commands, in order."""
    return [_recorded(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _recorded(row: dict[str, object]) -> Recorded:
    interrupted = row.get("interruptedAfter")
    return Recorded(
        number=int(str(row["n"])),
        story=str(row["story"]),
        command=str(row["command"]),
        exit=int(str(row["exit"])),
        stdout=str(row["stdout"]),
        stderr=str(row["stderr"]),
        stdin=str(row.get("stdin") or ""),
        env={str(key): str(value) for key, value in dict(row.get("env") or {}).items()},  # type: ignore[call-overload]
        kubectl=str(row.get("kubectl") or ""),
        cold=row.get("cache") == "cold",
        interrupted_after=None if interrupted is None else float(str(interrupted)),
    )


class Replayer:
    """Runs recorded commands one after another."""

    def __init__(self, kubectl: str, kubeconfig: Path, folder: Path) -> None:
        self._kubectl = kubectl
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._names: dict[str, str] = {}
        self._caches = 0

    def replay(self, commands: list[Recorded]) -> Iterator[Outcome]:
        for recorded in commands:
            if recorded.cold:
                self._caches += 1
            yield self._patiently(recorded)

    def _patiently(self, recorded: Recorded) -> Outcome:
        gives_up_at = time.monotonic() + PATIENCE_S
        while True:
            outcome = self._run(recorded)
            if outcome.is_same or not _only_reads(recorded) or time.monotonic() > gives_up_at:
                self._learn_names(outcome)
                return outcome
            time.sleep(0.1)

    def _run(self, recorded: Recorded) -> Outcome:
        script = self._translated(recorded.command).replace("$DIR", str(self._folder))
        env = {
            **os.environ,
            "KUBECONFIG": str(self._kubeconfig),
            "HOME": str(self._folder),
            "KUBECACHEDIR": str(self._folder / f"cache{self._caches}"),
            **recorded.env,
        }
        process = subprocess.Popen(
            ["bash", "-c", f'kubectl() {{ {shlex.quote(self._kubectl)} "$@"; }}; {script}'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=env,
            text=True,
            start_new_session=True,
        )
        stdout, stderr, code = _finished(process, self._translated(recorded.stdin), recorded.interrupted_after)
        return Outcome(recorded, code, stdout, stderr)

    def _translated(self, text: str) -> str:
        """The text with the names that stand here for those that the recorded server made up."""
        for name in sorted(set(generated_names(text)), key=len, reverse=True):
            if name in self._names:
                text = text.replace(name, self._names[name])
        return text

    def _learn_names(self, outcome: Outcome) -> None:
        there, here = list(generated_names(outcome.recorded.stdout)), list(generated_names(outcome.stdout))
        if len(there) == len(here):
            self._names.update(zip(there, here, strict=True))


def _finished(process: subprocess.Popen[str], stdin: str, interrupted_after: float | None) -> tuple[str, str, int]:
    try:
        stdout, stderr = process.communicate(stdin, timeout=interrupted_after or TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT if interrupted_after else signal.SIGKILL)
        stdout, stderr = process.communicate()
    return stdout, stderr, process.returncode


def _only_reads(recorded: Recorded) -> bool:
    words = recorded.command.removeprefix("kubectl ")
    return words.startswith(READS) and recorded.interrupted_after is None
