"""`bayplan run` as a process of its own, for tests that need signals, ports and exit codes."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_PATIENCE_S = 120.0
_PROGRAM = str(Path(sys.executable).with_name("bayplan"))


class Reply(NamedTuple):
    status: int
    text: str


class RunningScheduler:
    """One process, with its secure port and its log."""

    def __init__(self, kubeconfig: Path, log: Path, *arguments: str) -> None:
        self.port = _free_port()
        self._log = log
        secure = ("--bind-address", "127.0.0.1", "--secure-port", str(self.port))
        command = [_PROGRAM, "run", "--kubeconfig", str(kubeconfig), *secure]
        with log.open("wb") as output:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            self._process = subprocess.Popen(
                [*command, *arguments], stdout=output, stderr=subprocess.STDOUT, env=environment
            )

    def ask(self, path: str, token: str = "") -> Reply:
        """What the secure port answers."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", headers=headers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as response:
                return Reply(response.status, response.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read().decode())
        except OSError as error:
            return Reply(0, str(error))

    def log(self) -> str:
        return self._log.read_text()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Raises AssertionError, with the log, if it takes too long or the process ends before."""
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < end, self.log()
            time.sleep(0.02)

    def wait_until_ready(self) -> None:
        self.wait_for(lambda: self.ask("/readyz").status == 200)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_code(self) -> int:
        return self._process.wait(_PATIENCE_S)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@contextmanager
def running_scheduler(kubeconfig: Path, log: Path, *arguments: str) -> Iterator[RunningScheduler]:
    scheduler = RunningScheduler(kubeconfig, log, *arguments)
    try:
        yield scheduler
    finally:
        scheduler.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
