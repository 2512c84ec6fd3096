"""The metrics API, for `kubectl top`: what pods and nodes use, as `statuses.usage` has it.

Served beside the objects that are stored, as metrics-server would; nothing is stored, and nothing can be watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.apiserver.admitting.quantities import written
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.selecting.label_selectors import parse_label_selector
from bayplan.apiserver.statuses.usage import total, usage_of
from bayplan.apiserver.storage.entries import Document, encode_json
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.timestamps import format_time
from bayplan.store.errors import MethodNotAllowed, NotFound

GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
_NODES: Final = built_in("", "nodes")
_READING: Final = ("get", "list")
RESOURCES: Final = (
    Resource(GROUP, _VERSION, "NodeMetrics", "nodes", "", namespaced=False, verbs=_READING),
    Resource(GROUP, _VERSION, "PodMetrics", "pods", "", namespaced=True, verbs=_READING),
)
_NODE_METRICS: Final = RESOURCES[0]
_WINDOW: Final = "30s"


def answer_metrics(registry: Registry, request: Request, now: int) -> Answer | None:
    """The answer to a request for metrics; None if it is about something else."""
    if request.segments[:3] != ("apis", GROUP, _VERSION) or len(request.segments) < 4:
        return None
    if request.method != "GET":
        raise MethodNotAllowed
    rest = request.segments[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3:
        namespace, rest = rest[1], rest[2:]
    resource = next((one for one in RESOURCES if one.plural == rest[0]), None)
    if resource is None or len(rest) > 2:
        raise NotFound.no_resource()
    name = rest[1] if len(rest) == 2 else ""
    of_nodes = resource is _NODE_METRICS
    found = [*(_of_nodes(registry, name, now) if of_nodes else _of_pods(registry, namespace, name, now))]
    if name:
        if not found:
            raise NotFound.of(resource, f"{namespace}/{name}" if namespace else name)
        return Answer(200, encode_json({**_head(resource.kind), **found[0]}))
    selector = parse_label_selector(request.query.get("labelSelector", ""))
    chosen = [item for item in found if selector.matches(item["metadata"].get("labels") or {})]
    return Answer(200, encode_json({**_head(resource.list_kind), "metadata": {}, "items": chosen}))


def _head(kind: str) -> Document:
    return {"kind": kind, "apiVersion": f"{GROUP}/{_VERSION}"}


def _of_pods(registry: Registry, namespace: str, name: str, now: int) -> Iterable[Document]:
    for pod in registry.list(PODS, namespace):
        usages = usage_of(pod) if name in ("", pod["metadata"]["name"]) else None
        if usages is not None:
            containers = [{"name": each, "usage": _amounts([usage])} for each, usage in usages.items()]
            yield {**_measured(pod, now), "containers": containers}


def _of_nodes(registry: Registry, name: str, now: int) -> Iterable[Document]:
    by_node: dict[str, list[dict[str, int]]] = {}
    for pod in registry.list(PODS, ""):
        by_node.setdefault(pod["spec"].get("nodeName", ""), []).extend((usage_of(pod) or {}).values())
    for node in registry.list(_NODES, ""):
        node_name = node["metadata"]["name"]
        if name in ("", node_name):
            yield {**_measured(node, now), "usage": _amounts(by_node.get(node_name, []))}


def _amounts(usages: list[dict[str, int]]) -> Document:
    return {CPU_NAME: written(total(usages, CPU_NAME)), MEMORY_NAME: written(total(usages, MEMORY_NAME), like="1Ki")}


def _measured(obj: Document, now: int) -> Document:
    meta, time = obj["metadata"], format_time(now)
    named = {field: meta[field] for field in ("name", "namespace", "labels") if field in meta}
    return {"metadata": {**named, "creationTimestamp": time}, "timestamp": time, "window": _WINDOW}
