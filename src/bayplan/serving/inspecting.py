"""What the scheduler holds in memory, for people: the cache and the queue, as data, as pages, and as a dump to the log.

Takes the scheduler and the objects as the API server last showed them; changes nothing. The dump, which SIGUSR2 asks
for, has upstream's words (backend/cache/debugger): first where the cache and the API server's objects disagree, then
all nodes and the whole queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bayplan.client.loggers import structlog
from bayplan.config.releases import RELEASES
from bayplan.core.columns.resources import CPU_NAME
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.report.terminal import Part, rendered, sentence, table

_log = structlog.get_logger("debugger")

Plain = dict[str, Any]
#: A kind to its objects by key, as the API server last showed them.
Known = Callable[[str], Mapping[str, Object]]


class Inspector:
    """Looks into a scheduler between two decisions."""

    def __init__(self, scheduler: Scheduler, known: Known) -> None:
        self._scheduler = scheduler
        self._known = known

    # ------------------------------------------------------------------ cache

    def cache_document(self) -> Plain:
        """Every node with what its pods take, and who waits for it."""
        view = self._scheduler.cache.view()
        rows = sorted(view.nodes.rows_by_name.items())
        nodes = [self._node(view, name, row) for name, row in rows]
        return {"nodes": nodes, "podsOnTheWay": sorted(self._scheduler.pods_on_the_way())}

    def _node(self, view: View, name: str, row: int) -> Plain:
        names = self._scheduler.cache.resources.values
        requested, allocatable = view.nodes.requested[row].tolist(), view.nodes.allocatable[row].tolist()
        return {
            "name": name,
            "deleted": not view.nodes.alive[row],
            "requested": _amounts(names, requested),
            "allocatable": _amounts(names, allocatable),
            "allowedPods": int(view.nodes.allowed_pods[row]),
            "pods": [view.pods.keys[pod] for pod in view.nodes.pod_rows[row]],
            "nominatedPods": [view.pods.keys[pod] for pod in view.nominated.get(name, ())],
        }

    # ------------------------------------------------------------------ queue

    def queue_document(self) -> Plain:
        """Every pending pod: where it waits, and for what."""
        return {"summary": self._summary(), "pods": [_queued(queued) for queued in self._queued_pods()]}

    def _queued_pods(self) -> list[QueuedPod]:
        return sorted(self._scheduler.queue.queued_pods(), key=lambda queued: (queued.state.value, queued.number))

    def _summary(self) -> str:
        counts = Counter(queued.state for queued in self._scheduler.queue.queued_pods())
        parked = counts[PodState.UNSCHEDULABLE] + counts[PodState.GATED]
        name = RELEASES[self._scheduler.cache.gates.release.version].name_of_parked
        return f"activeQ:{counts[PodState.ACTIVE]}; backoffQ:{counts[PodState.BACKOFF]}; {name}:{parked}"

    # ------------------------------------------------------------------ to the log

    def dump(self) -> None:
        """All of it to the log, after what does not agree with the API server."""
        self._compare()
        view = self._scheduler.cache.view()
        nodes = [self._dumped_node(view, name, row) for name, row in sorted(view.nodes.rows_by_name.items())]
        _log.info("Dump of cached NodeInfo", nodes="\n\n".join(nodes))
        pods = "".join(_dumped_pod(queued.pod) for queued in self._queued_pods())
        _log.info("Dump of scheduling queue", summary=self._summary(), pods=pods)

    def _compare(self) -> None:
        view = self._scheduler.cache.view()
        _log.info("Cache comparer started", v=3)
        nodes, alive = view.nodes, view.nodes.alive
        shown = (node.metadata.name for node in self._known("Node").values())
        missed, redundant = _compared(shown, (name for name, row in nodes.rows_by_name.items() if alive[row]))
        if missed or redundant:
            _log.info("Cache mismatch", missedNodes=missed, redundantNodes=redundant)
        actual = (pod.metadata.uid for pod in self._pods() if pod.spec.node_name or self._is_ours(pod))
        running = (view.pods.uids[row] for rows in nodes.pod_rows for row in rows)
        queued = (queued.pod.metadata.uid for queued in self._scheduler.queue.queued_pods())
        missed, redundant = _compared(actual, {*running, *queued})
        if missed or redundant:
            _log.info("Cache mismatch", missedPods=missed, redundantPods=redundant)
        _log.info("Cache comparer finished", v=3)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._scheduler.profiles

    def _pods(self) -> Iterable[Pod]:
        return (pod for pod in self._known("Pod").values() if isinstance(pod, Pod))

    def _dumped_node(self, view: View, name: str, row: int) -> str:
        node = self._node(view, name, row)
        text = (
            f"Node name: {name}\nDeleted: {str(node['deleted']).lower()}\nRequested Resources: {node['requested']}\n"
            f"Allocatable Resources:{node['allocatable']}\nScheduled Pods(number: {len(node['pods'])}):\n"
        )
        text += "".join(map(self._dumped_key, node["pods"]))
        nominated = node["nominatedPods"]
        if nominated:
            text += f"Nominated Pods(number: {len(nominated)}):\n" + "".join(map(self._dumped_key, nominated))
        return text

    def _dumped_key(self, key: str) -> str:
        pod = self._known("Pod").get(key)
        return _dumped_pod(pod) if isinstance(pod, Pod) else f"name: {key}, not known to the API server\n"


def cache_text(document: Plain) -> str:
    """The cache as a table."""
    columns = ("node", "pods", "nominated", "requested", "allocatable")
    rows = [
        (
            node["name"] + (" (deleted)" if node["deleted"] else ""),
            f"{len(node['pods'])}/{node['allowedPods']}",
            str(len(node["nominatedPods"])),
            _listed(node["requested"]),
            _listed(node["allocatable"]),
        )
        for node in document["nodes"]
    ]
    waiting = document["podsOnTheWay"]
    parts: list[Part] = [
        sentence(f"{len(rows)} nodes; {len(waiting)} pods have a node and are not known to be bound."),
        table(*columns, rows=rows, numeric=("pods", "nominated")),
        *(sentence(key) for key in waiting),
    ]
    return rendered(parts)


def queue_text(document: Plain) -> str:
    """The queue as a table."""
    columns = ("pod", "state", "attempts", "since", "until", "rejected by", "nominated to")
    rows = [
        (
            queued["pod"],
            queued["state"],
            str(queued["attempts"]),
            queued["since"],
            queued.get("until", ""),
            queued.get("gatedBy") or ", ".join(queued["rejectedBy"]),
            queued["nominatedNodeName"],
        )
        for queued in document["pods"]
    ]
    return rendered([sentence(document["summary"]), table(*columns, rows=rows, numeric=("attempts",))])


def _amounts(names: list[str], amounts: list[int]) -> dict[str, int]:
    """Only what there is; cpu in thousandths of a core."""
    return {name: amount for name, amount in zip(names, amounts, strict=False) if amount}


def _listed(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {amount}{'m' if name == CPU_NAME else ''}" for name, amount in amounts.items())


def _queued(queued: QueuedPod) -> Plain:
    plain: Plain = {
        "pod": queued.key,
        "state": queued.state.value,
        "priority": queued.info.priority,
        "attempts": queued.attempts,
        "since": format_time(queued.timestamp),
        "rejectedBy": list(queued.rejectors),
        "nominatedNodeName": queued.info.nominated_node_name,
    }
    if queued.state is PodState.BACKOFF and queued.backoff_second is not None:
        plain["until"] = format_time(queued.backoff_second + SECOND)
    if queued.gating_plugin:
        plain["gatedBy"] = queued.gating_plugin
    return plain


def _dumped_pod(pod: Pod) -> str:
    meta, status = pod.metadata, pod.status
    return (
        f"name: {meta.name}, namespace: {meta.namespace}, uid: {meta.uid}, phase: {status.phase}, "
        f"nominated node: {status.nominated_node_name}\n"
    )


def _compared(actual: Iterable[str], cached: Iterable[str]) -> tuple[list[str], list[str]]:
    """What the cache lacks, and what only the cache has."""
    shown, held = set(actual), set(cached)
    return sorted(shown - held), sorted(held - shown)
