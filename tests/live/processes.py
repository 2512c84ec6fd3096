"""Real `bayplan run` processes behind proxies, to be killed.

Takes the proxy that a process is to reach its API server through; gives a process that can be started, asked to end and
killed, again and again. Its standard error goes to a file. Ends with the block it is made in.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.live.proxy import FaultProxy
from tests.live.random_cluster import TOKEN

from bayplan.worlds.kubeconfig import kubeconfig

_PROGRAM = str(Path(sys.executable).with_name("bayplan"))
_ENDS_WITHIN_S = 60.0

Settings = Mapping[str, Any]
"""Fields of a KubeSchedulerConfiguration."""

#: Who fits is woken by what makes it fit, and soon; nothing is limited.
EAGER: Settings = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 2,
    "clientConnection": {"qps": 0},
    "leaderElection": {"leaderElect": False},
    "profiles": [{"pluginConfig": [{"name": "bayplan", "args": {"wakeups": "complete"}}]}],
}
#: As short as whole seconds allow: a Lease lasts three, and is renewed within two.
ELECTING: Settings = {
    **EAGER,
    "leaderElection": {"leaderElect": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"},
}


def written(settings: Settings) -> dict[str, Any]:
    """The whole configuration."""
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **settings}


def a_pod(name: str, cpu: str, **spec: str) -> dict[str, Any]:
    """As a user would write it."""
    container = {"name": "main", "image": "registry/app:1", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


class SchedulerProcess:
    """One scheduler, which may be started several times."""

    def __init__(self, proxy: FaultProxy, folder: Path, settings: Settings = EAGER, token: str = TOKEN) -> None:
        self._proxy = proxy
        self._stem = folder / proxy.who
        self._settings = settings
        self._token = token
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self._stem.with_suffix(".kubeconfig").write_text(kubeconfig(self._proxy.url, self._token), encoding="utf-8")
        # JSON is YAML.
        self._stem.with_suffix(".yaml").write_text(json.dumps(written(self._settings)), encoding="utf-8")
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.is_running:
            await self.kill()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def said(self) -> str:
        """What it wrote to its standard error, over all its lives."""
        return self._stem.with_suffix(".log").read_text(encoding="utf-8")

    async def start(self) -> None:
        arguments = ["--config", f"{self._stem}.yaml", "--kubeconfig", f"{self._stem}.kubeconfig", "--secure-port", "0"]
        with self._stem.with_suffix(".log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(_PROGRAM, "run", *arguments, stderr=log)

    async def kill(self) -> None:
        """kill -9: it has no time to finish anything."""
        await self._end(signal.SIGKILL)

    async def terminate(self) -> int:
        """SIGTERM; its exit code."""
        return await self._end(signal.SIGTERM)

    async def ended(self, within_s: float) -> int:
        """Its exit code, when it ends by itself."""
        assert self._process is not None
        async with asyncio.timeout(within_s):
            return await self._process.wait()

    async def _end(self, by: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(by)
        return await self.ended(_ENDS_WITHIN_S)
