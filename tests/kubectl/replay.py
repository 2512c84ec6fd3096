"""Replays recorded kubectl commands against a running `bayplan up`, and says which answers are the same.

Takes the recording (commands with what a real cluster answered), a kubectl and a kubeconfig; runs one command after
another. Names, uids and versions that were made up by the recorded server are replaced by those that stand in the same
place here. A command that only reads is tried again for a while: the recorded one may have been asked a little later.
Commands that watch run beside those that follow them, as they did when they were recorded.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kubectl.masking import generated_names, masked, without_chance

READS = ("get", "describe", "events", "rollout status", "rollout history", "top", "api-resources", "explain")
#: Commands that wait for what a later one does.
WATCHES = re.compile(r"kubectl (get .*(-w\b|--watch)|wait --for=(delete|create))")
CHANGES = re.compile(r"kubectl (label|annotate|run|delete|apply) ")
#: Commands whose answers depend on where pods are and how they are called.
_PODS = re.compile(r"kubectl (get|describe|events|delete all).*|kubectl (drain|diff|scale rs) .*")
PATIENCE_S = 3.0
TIMEOUT_S = 60.0
WATCH_STARTS_S = 1.5
#: How long an interrupted command may take to end.
ENDS_S = 3.0
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VERSION = re.compile(r'resourceVersion"?: ?"(\d+)')


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
        if self.exit != self.recorded.exit:
            return False
        pairs = (
            (masked(self.stdout), masked(self.recorded.stdout)),
            (masked(self.stderr), masked(self.recorded.stderr)),
        )
        if all(here == there for here, there in pairs):
            return True
        if not _PODS.match(self.recorded.command):
            return False
        return all(without_chance(here) == without_chance(there) for here, there in pairs)


def load(path: Path) -> list[Recorded]:
    """The recorded commands, in order."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [_recorded(json.loads(line)) for line in lines]


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
    """Runs recorded commands one after another.

    Args:
        kubectl: the program.
        kubeconfig: where the cluster is.
        folder: for files of the commands.
        impatient: numbers of commands that are known to answer differently; they are run once.
    """

    def __init__(self, kubectl: str, kubeconfig: Path, folder: Path, impatient: Container[int] = ()) -> None:
        # Field managers are called after the program.
        self._kubectl = folder / "kubectl"
        self._kubectl.symlink_to(kubectl)
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._impatient = impatient
        self._names: dict[str, str] = {}
        self._caches = 0

    def replay(self, commands: list[Recorded]) -> Iterator[Outcome]:
        waiting = list(commands)
        while waiting:
            recorded = waiting.pop(0)
            if recorded.cold:
                self._caches += 1
            if WATCHES.match(recorded.command):
                beside = []
                while waiting and CHANGES.match(waiting[0].command):
                    beside.append(waiting.pop(0))
                yield from self._watched(recorded, beside)
            else:
                yield self._patiently(recorded)

    def _watched(self, recorded: Recorded, beside: list[Recorded]) -> Iterator[Outcome]:
        """Runs a watch, and meanwhile what is to be seen by it."""
        process = self._start(recorded)
        gives_up_at = time.monotonic() + (recorded.interrupted_after or TIMEOUT_S) + WATCH_STARTS_S
        if beside:
            time.sleep(WATCH_STARTS_S)
        outcomes = [self._patiently(command) for command in beside]
        left = max(0.5, gives_up_at - time.monotonic())
        stdout, stderr, code = _finished(process, "", left, interrupts=recorded.interrupted_after is not None)
        yield Outcome(recorded, code, stdout, stderr)
        yield from outcomes

    def _patiently(self, recorded: Recorded) -> Outcome:
        gives_up_at = time.monotonic() + (0 if recorded.number in self._impatient else PATIENCE_S)
        while True:
            outcome = self._run(recorded)
            if outcome.is_same or not _only_reads(recorded) or time.monotonic() > gives_up_at:
                self._learn(outcome)
                return outcome
            time.sleep(0.1)

    def _run(self, recorded: Recorded) -> Outcome:
        process = self._start(recorded)
        stdout, stderr, code = _finished(
            process,
            self._translated(recorded.stdin),
            recorded.interrupted_after or TIMEOUT_S,
            interrupts=recorded.interrupted_after is not None,
        )
        return Outcome(recorded, code, stdout, stderr)

    def _start(self, recorded: Recorded) -> subprocess.Popen[str]:
        script = self._translated(recorded.command).replace("$DIR", str(self._folder))
        env = {
            **os.environ,
            "KUBECONFIG": str(self._kubeconfig),
            "HOME": str(self._folder),
            "KUBECACHEDIR": str(self._folder / f"cache{self._caches}"),
            **recorded.env,
        }
        return subprocess.Popen(
            ["bash", "-c", f'kubectl() {{ {shlex.quote(str(self._kubectl))} "$@"; }}; {script}'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=env,
            text=True,
            start_new_session=True,
        )

    def _translated(self, text: str) -> str:
        """The text with what stands here for what the recorded server made up."""
        for name in sorted({*generated_names(text), *_UID.findall(text)}, key=len, reverse=True):
            if name in self._names:
                text = text.replace(name, self._names[name])
        return _VERSION.sub(lambda found: found.group().replace(found[1], self._names.get(found[1], found[1])), text)

    def _learn(self, outcome: Outcome) -> None:
        for find in (generated_names, _UID.findall, _VERSION.findall):
            there, here = list(find(outcome.recorded.stdout)), list(find(outcome.stdout))
            if len(there) == len(here):
                self._names.update(zip(there, here, strict=True))


def _finished(process: subprocess.Popen[str], stdin: str, seconds: float, *, interrupts: bool) -> tuple[str, str, int]:
    signals = [signal.SIGINT, signal.SIGKILL] if interrupts else [signal.SIGKILL]
    while True:
        try:
            stdout, stderr = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signals.pop(0))
            seconds = ENDS_S
        else:
            return stdout, stderr, process.returncode


def _only_reads(recorded: Recorded) -> bool:
    words = recorded.command.removeprefix("kubectl ")
    return words.startswith(READS) and recorded.interrupted_after is None
