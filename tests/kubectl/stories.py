"""Recorded stories, replayed each against a cluster of its own.

Takes the recorded commands; gives what each answered here. Most stories continue one another on one cluster, the others
began with three nodes that an earlier one had left.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kubectl.replay import Outcome, Recorded, Replayer

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.reading import read_documents
from bayplan.model.time_units import MILLISECOND
from bayplan.worlds.delays import Latencies
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.kubeconfig import NAME, kubeconfig

#: Stories that continue one another.
CONTINUED = (
    *("discovery", "nodes", "namespaces and priority", "workloads", "pods", "watching", "events", "changing"),
    "deleting and draining",
)
#: Stories in which the recording proxy changed answers, to see what kubectl makes of it.
ALTERED = (
    *("classic discovery", "no server-side tables", "protobuf bodies refused", "sendInitialEvents"),
    *("openapi v2", "openapi v3", "kubectl 1.20.2: openapi missing", "kubectl 1.20.2: openapi v3"),
)
_BEGIN_EMPTY = (*CONTINUED, "preemption")
_NODE = """---
apiVersion: v1
kind: Node
metadata:
  name: n{number}
  labels: {{kubernetes.io/hostname: n{number}, pool: main, topology.kubernetes.io/zone: z{number}}}
  {annotations}
status:
  capacity: {{cpu: "4", memory: 8Gi, pods: "20"}}
  allocatable: {{cpu: "4", memory: 8Gi, pods: "20"}}
  conditions:
  - {{type: Ready, status: "True", reason: KubeletReady}}
"""
_STOPS_S = 10.0
#: Pods run at once, and take some time to stop.
_LATENCIES = Latencies(pod_start_ns=50 * MILLISECOND, pod_stop_ns=1_500 * MILLISECOND, jitter=0.5)


def is_altered(story: str) -> bool:
    return story.startswith(ALTERED)


def groups_of(commands: list[Recorded]) -> dict[str, list[Recorded]]:
    """The commands by the cluster that they run on."""
    groups: dict[str, list[Recorded]] = {}
    for command in commands:
        key = CONTINUED[0] if command.story in CONTINUED else command.story
        groups.setdefault(key, []).append(command)
    return groups


def replay_story(
    commands: list[Recorded], kubectl: str, folder: Path, impatient: Container[int] = ()
) -> Iterator[Outcome]:
    """What the commands of one cluster answer here."""
    with cluster(folder, empty=commands[0].story in _BEGIN_EMPTY) as kubeconfig:
        yield from Replayer(kubectl, kubeconfig, folder, impatient).replay(commands)


@contextmanager
def cluster(folder: Path, *, empty: bool) -> Iterator[Path]:
    """A cluster whose kubelets take as long as those of the recording; gives its kubeconfig."""
    nodes = folder / "nodes.yaml"
    annotations = {1: "annotations: {note: hello}"}
    texts = [_NODE.format(number=number, annotations=annotations.get(number, "")) for number in (1, 2, 3)]
    nodes.write_text("".join(texts), encoding="utf-8")
    hosting = Hosting(token="t", configuration=load_configuration(release=DEFAULT_RELEASE), latencies=_LATENCIES)
    hosted = HostedCluster(hosting, written=() if empty else read_documents([nodes]))
    kubeconfig_file = folder / "kubeconfig"
    kubeconfig_file.write_text(_renamed(kubeconfig(hosted.url, hosting.token)), encoding="utf-8")
    thread = threading.Thread(target=lambda: asyncio.run(hosted.run()), daemon=True)
    thread.start()
    try:
        yield kubeconfig_file
    finally:
        hosted.stop()
        thread.join(_STOPS_S)


def _renamed(text: str) -> str:
    """The kubeconfig with the names that the recording's had, which `config view` shows."""
    for part, name in (("cluster", "c"), ("user", "u"), ("current-context", "x")):
        text = text.replace(f"{part}: {NAME}\n", f"{part}: {name}\n")
    for section, name in (("clusters", "c"), ("contexts", "x"), ("users", "u")):
        text = text.replace(f"{section}:\n- name: {NAME}\n", f"{section}:\n- name: {name}\n")
    # The token is in the address already.
    return re.sub(r"user:\n +token: .*", "user: {}", text)
