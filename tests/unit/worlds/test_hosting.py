"""A cluster in one process goes on when something in it raises what nobody expected."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.admitting.plugins.switchable import NODE_TAINTS
from bayplan.apiserver.housekeeping.endpoints import ServiceEndpoints
from bayplan.apiserver.housekeeping.nodes import NODES
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.durable import InvalidState, StateFile
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.controllers.workloads.replica_set import ReplicaSetController
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.queue import SchedulingQueue
from bayplan.testing import LiveCluster
from bayplan.testing.live_objects import Refusal
from bayplan.worlds.bug_reports import BugReports
from bayplan.worlds.event_writing import EventWriter
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.journal import head_of
from bayplan.worlds.performing import Performer
from bayplan.worlds.simulated import SimulatedWorld
from bayplan.worlds.starting_nodes import plain_nodes


@contextmanager
def surviving_cluster(folder: Path) -> Iterator[tuple[LiveCluster, BugReports]]:
    bugs = BugReports(
        lambda *_, **__: None, head_of(load_configuration(None, release=DEFAULT_RELEASE), None, ""), folder / "bugs"
    )
    hosting = Hosting(token="t", configuration=load_configuration(release=DEFAULT_RELEASE), speed=100.0, bugs=bugs)
    running = LiveCluster(hosting, 2, folder)
    try:
        yield running, bugs
    finally:
        running._stop()


def wanted(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def replica_set(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": wanted("")["spec"] | {"terminationGracePeriodSeconds": 0}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}


def raise_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """The first time that it is called."""
    original: Callable[..., Any] = getattr(owner, name)
    raised: list[str] = []

    def raises(*arguments: Any, **named: Any) -> Any:
        if not raised:
            raised.append(name)
            raise ValueError("broken")
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, raises)


@pytest.mark.parametrize(
    ("owner", "name", "where"),
    [
        (Decider, "decide", "attempt"),
        (Cache, "add_pod", "attempt"),
        (SchedulingQueue, "add", "event"),
        (Performer, "_answer", "write"),
        (SimulatedWorld, "_send", "write"),
        (EventWriter, "_write", "write"),
        (ReplicaSetController, "reconcile", "controller"),
        (ReplicaSetController, "observe", "controller"),
        (ServiceEndpoints, "observe", "housekeeping"),
        (ServiceEndpoints, "reconcile", "housekeeping"),
    ],
)
def test_whatever_raises_pods_run_in_the_end(
    owner: type, name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with surviving_cluster(tmp_path) as (running, bugs):
        raise_once(monkeypatch, owner, name)
        running.apply([replica_set("web", 3), wanted("alone"), wanted("huge") | {"spec": _huge()}])
        running.wait_until(lambda k: all_run(k, "app=web", 3), timeout=60)
        running.wait_until(lambda k: k.get("pod", "alone")["status"]["phase"] == "Running", timeout=60)
        running.wait_until(lambda k: k.get("pod", "huge")["status"]["conditions"], timeout=60)
        assert bugs.counts[where,] == 1


def _huge() -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1000"}}}
    return {"containers": [container]}


def all_run(running: LiveCluster, selector: str, count: int) -> bool:
    phases = [pod["status"]["phase"] for pod in running.list("pods", "default", selector)]
    return phases == ["Running"] * count


def test_a_pod_that_always_raises_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Decider.decide

    def raises(self: Decider, info: Any, view: Any) -> Any:
        if info.name == "cursed":
            raise ValueError("broken")
        return original(self, info, view)

    monkeypatch.setattr(Decider, "decide", raises)
    with surviving_cluster(tmp_path) as (running, bugs):
        running.apply([wanted("cursed"), wanted("blessed")])
        running.wait_until(lambda k: k.get("pod", "blessed")["status"]["phase"] == "Running", timeout=60)
        running.wait_until(lambda _: bugs.counts["attempt",] >= 2, timeout=60)
        (condition,) = running.get("pod", "cursed")["status"]["conditions"]
        assert (condition["reason"], condition["message"]) == ("SchedulerError", "internal error: ValueError: broken")
        reasons = [event["reason"] for event in running.list("events", "default") if is_about(event, "cursed")]
        assert set(reasons) == {"FailedScheduling"}
    assert len([*(tmp_path / "bugs").iterdir()]) == 1


def is_about(event: dict[str, Any], name: str) -> bool:
    return bool(event["involvedObject"]["name"] == name)


def test_a_request_that_raises_is_refused_and_harms_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with surviving_cluster(tmp_path) as (running, _):
        raise_once(monkeypatch, Registry, "apply")
        with pytest.raises(Refusal, match="Internal error occurred"):
            running.apply(wanted("p"))
        running.apply(wanted("p"))
        running.wait_until(lambda k: k.get("pod", "p")["status"]["phase"] == "Running", timeout=60)


def test_a_cluster_that_cannot_start_gives_its_state_back(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        hosting = Hosting(
            token="t",
            configuration=load_configuration(release=DEFAULT_RELEASE),
            port=taken.getsockname()[1],
            state=tmp_path / "state",
        )
        with pytest.raises(Exception, match="in use") as kept:
            HostedCluster(hosting)
    StateFile(tmp_path / "state").close()
    assert kept.tb is not None, "kept, and with it whatever was not closed"


def test_a_state_file_whose_documents_make_no_sense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = StateFile(path)
    storage = Storage(durable=state)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"priority": "x"},
    }
    storage.add("pods", pod)
    state.close()
    with pytest.raises(InvalidState, match="damaged"):
        HostedCluster(Hosting(token="t", configuration=load_configuration(release=DEFAULT_RELEASE), state=path))


def test_a_pod_ends_as_its_command_says(tmp_path: Path) -> None:
    pod = wanted("job")
    pod["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 1; exit 3"]
    pod["spec"]["restartPolicy"] = "Never"
    with surviving_cluster(tmp_path) as (running, _):
        running.apply(pod)
        (container,) = running.wait_until("pod/job failed")["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 3


def node(name: str, ready: str) -> dict[str, Any]:
    status = {
        "conditions": [{"type": "Ready", "status": ready}],
        "allocatable": {"cpu": "2000", "memory": "16Gi", "pods": "9"},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def test_pods_come_to_a_new_node_once_it_is_ready(tmp_path: Path) -> None:
    """Every new node is tainted; of one that says that it is ready, the taint is taken away."""
    with surviving_cluster(tmp_path) as (running, _):
        running.apply([wanted("huge") | {"spec": _huge()}, node("slow", "False")])
        running.wait_until(lambda k: len(k.get("node", "slow")["spec"]["taints"]) == 2)
        running.apply(node("new", "True"))
        running.wait_until("pod/huge running")
        assert running.get("pod", "huge")["spec"]["nodeName"] == "new"
        assert "taints" not in running.get("node", "new")["spec"]


@pytest.mark.parametrize(
    ("with_controllers", "disabled", "tainted"),
    [(True, frozenset(), True), (False, frozenset(), False), (True, frozenset({NODE_TAINTS}), False)],
)
def test_new_nodes_are_tainted_where_somebody_takes_that_back(
    with_controllers: bool, disabled: frozenset[str], tainted: bool
) -> None:
    hosting = Hosting(
        token="t",
        configuration=load_configuration(release=DEFAULT_RELEASE),
        with_controllers=with_controllers,
        disabled_plugins=disabled,
    )
    cluster = HostedCluster(hosting, plain_nodes(1, 0, DEFAULT_RELEASE))
    cluster._listening.close()
    made = cluster.registry.create(NODES, "", node("n", "True"), WriteOptions("test"), 0)
    assert ("taints" in made.document["spec"]) == tainted
    (first,) = [entry for entry in cluster.storage.entries("nodes") if entry.name == "node-1"]
    assert "taints" not in first.document["spec"]
