"""A cluster as `bayplan up` runs it, in a thread of this process, worked on with the real kubectl.

Takes the objects it starts with; gives a shell in which `kubectl` means this cluster, and what can be seen of its pods.
`settle` returns when nothing is left to do, so that a test need not guess how long to wait.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayplan.config.loading import load_configuration
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.model.reading import SourcedDocument
from bayplan.model.time_units import SECOND
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.kubeconfig import kubeconfig

Document = dict[str, Any]

#: Nothing was written for so long, and the scheduler has nothing to do for longer than a pod backs off.
_QUIET_S = 0.4
#: With groups, the scheduler always has something to do: by then it has tried each of them again.
_QUIET_WITH_GROUPS_S = 4.0
_BACKOFF_MAX_NS = 12 * SECOND
_SETTLES_WITHIN_S = 90.0
_COMMAND_MAX_S = 120.0
_TOKEN = "checked"
_SHORT_BACKOFF = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
}


@dataclass(frozen=True, slots=True)
class SeenPod:
    """What matters here of a pod in the cluster."""

    key: str
    uid: str
    app: str
    node: str
    is_over: bool
    is_leaving: bool

    @property
    def runs(self) -> bool:
        return bool(self.node) and not self.is_leaving and not self.is_over

    @property
    def waits(self) -> bool:
        return not self.node and not self.is_leaving and not self.is_over


class RunningCluster:
    """A cluster with a shell."""

    def __init__(
        self, hosted: HostedCluster, folder: Path, loop: asyncio.AbstractEventLoop, *, retries_groups: bool
    ) -> None:
        self._retries_groups = retries_groups
        self._hosted = hosted
        self._loop = loop
        self.folder = folder
        config = folder / "kubeconfig"
        config.write_text(kubeconfig(hosted.url, _TOKEN), encoding="utf-8")
        cache = str(folder / "kubectl-cache")
        self._environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(folder), "KUBECACHEDIR": cache}

    def shell(self, command: str) -> str:
        """What the command prints. It must succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_MAX_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def settle(self) -> None:
        """Waits until nothing happens any more."""
        gives_up_at = time.monotonic() + _SETTLES_WITHIN_S
        version, since = -1, time.monotonic()
        while True:
            now_version, is_idle = self._call(self._state)
            if now_version != version or not is_idle:
                version, since = now_version, time.monotonic()
            elif time.monotonic() - since > (_QUIET_WITH_GROUPS_S if self._retries_groups else _QUIET_S):
                return
            assert time.monotonic() < gives_up_at, "the cluster does not come to rest"
            time.sleep(0.05)

    def pods(self) -> dict[str, SeenPod]:
        """All pods, by uid."""
        entries = self._call(lambda: [entry.document for entry in self._hosted.storage.entries("pods")])
        return {pod.uid: pod for pod in map(_seen, entries)}

    def _state(self) -> tuple[int, bool]:
        now = time.time_ns()
        scheduler = self._hosted.scheduler
        assert scheduler is not None
        due = scheduler.due_at(now)
        return self._hosted.storage.version, self._retries_groups or due is None or due > now + _BACKOFF_MAX_NS

    def _call(self, function: Callable[[], Any]) -> Any:
        """What the function returns in the cluster's thread, between two requests."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(_COMMAND_MAX_S)


def _seen(document: Mapping[str, Any]) -> SeenPod:
    metadata, spec, status = document["metadata"], document["spec"], document.get("status") or {}
    return SeenPod(
        key=f"{metadata['namespace']}/{metadata['name']}",
        uid=metadata["uid"],
        app=(metadata.get("labels") or {}).get("app", ""),
        node=spec.get("nodeName", ""),
        is_over=status.get("phase") in ("Succeeded", "Failed"),
        is_leaving="deletionTimestamp" in metadata,
    )


@contextmanager
def running_cluster(objects: Sequence[Document], folder: Path, gates: str = "") -> Iterator[RunningCluster]:
    """A cluster that starts with these objects, as with `bayplan up -f`, and is gone after the block.

    It decides as the newest version does, as do questions about files that do not say which version they are from.
    Where there are gates, those for pod groups are among them, and groups back off for a second or two only: nothing
    else makes the scheduler try them again.
    """
    configuration = load_configuration(
        _SHORT_BACKOFF if gates else None, gates, release=NEWEST_RELEASE, with_groups=bool(gates)
    )
    hosting = Hosting(token=_TOKEN, speed=100.0, configuration=configuration)
    hosted = HostedCluster(hosting, written=[SourcedDocument("cluster.yaml", "", document) for document in objects])
    ready: Future[asyncio.AbstractEventLoop] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(hosted, ready)), daemon=True)
    thread.start()
    loop = ready.result(_COMMAND_MAX_S)
    try:
        yield RunningCluster(hosted, folder, loop, retries_groups=bool(gates))
    finally:
        loop.call_soon_threadsafe(hosted.stop)
        thread.join()


async def _serve(hosted: HostedCluster, ready: Future[asyncio.AbstractEventLoop]) -> None:
    running = asyncio.ensure_future(hosted.run())
    await hosted.started()
    ready.set_result(asyncio.get_running_loop())
    await running
