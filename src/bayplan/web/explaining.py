"""The answers of `bayplan explain` for the dashboard, about the cluster now or when the decision was made.

Takes a storage; its log says at which version a pod was nominated or bound, and what was stored just before. The
answer is worked out in another thread, on documents that never change, so that requests go on being answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayplan.analysis.cluster import Cluster
from bayplan.apiserver.registry.typed import MODELED
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.errors import InvalidObject
from bayplan.model.pod import group_key
from bayplan.report.answers.groups import group_parts
from bayplan.report.answers.plain import plain_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.store.errors import BadRequest, NotFound
from bayplan.store.rules import RULES

NOW: Final = "now"
NOMINATED: Final = "nominated"
BOUND: Final = "bound"
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was decided about a pod: the version just before."""

    what: str
    version: int
    node: str


def moments_of(changes: Iterable[DocumentChange], namespace: str, name: str) -> list[Moment]:
    """Nominations and binding of the pod that has this name now, oldest first."""
    found: list[Moment] = []
    for change in changes:
        if change.resource != _PODS or (change.new.namespace, change.new.name) != (namespace, name):
            continue
        if change.old is None:
            found.clear()
            continue
        for what, path in ((NOMINATED, ("status", "nominatedNodeName")), (BOUND, ("spec", "nodeName"))):
            before, after = _at(change.old.document, path), _at(change.new.document, path)
            if after and after != before:
                found.append(Moment(what, change.version - 1, after))
    return found


def _at(document: Document, path: tuple[str, str]) -> str:
    text: str = (document.get(path[0]) or {}).get(path[1]) or ""
    return text


class Explainer:
    """Explains pods of one storage.

    Args:
        storage: where the documents are.
        config: the scheduler's configuration.
        feature_gates: its feature gates.
        kubernetes_version: its version; None: the one that the API server is of.
    """

    def __init__(
        self,
        storage: Storage,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        kubernetes_version: str | None = None,
    ) -> None:
        self._storage = storage
        self._config = config
        self._feature_gates = feature_gates
        self._version = kubernetes_version or DEFAULT_RELEASE.version
        self._busy = asyncio.Semaphore(1)

    async def explain(self, namespace: str, name: str, when: str) -> Document:
        """The answer as parts; `when` is "now", a version, or "" for when it was decided. Raises ApiError."""
        storage = self._storage
        moments = moments_of(storage.log.since(storage.log.expired), namespace, name)
        moment = _chosen(moments, when, storage.version)
        current = [entry.document for resource in MODELED for entry in storage.entries(resource)]
        later = storage.log.since(moment.version)
        async with self._busy:
            answer = await asyncio.to_thread(self._work_out, current, later, f"{namespace}/{name}")
        answer["moment"] = _plain(moment)
        answer["moments"] = [_plain(one) for one in moments]
        return answer

    def _work_out(self, current: list[Document], later: Sequence[DocumentChange], key: str) -> Document:
        try:
            cluster = Cluster.from_objects(documents_before(current, later), self._version)
            if key not in cluster.pods:
                raise NotFound.of(RULES["Pod"], key.partition("/")[2])
            group = group_key(cluster.pods[key])
            if group and self._knows_groups(cluster):
                why = cluster.explain_group(group, self._config, feature_gates=self._feature_gates).document()
                return {"parts": plain_parts(group_parts(why)), "pods": (why["preemption"] or {}).get("evicted", [])}
            document = cluster.explain(key, self._config, feature_gates=self._feature_gates).document()
        except InvalidObject as error:
            raise BadRequest(str(error)) from None
        return {"parts": plain_parts(explanation_parts(document)), "pods": sorted(_victims(document))}

    def _knows_groups(self, cluster: Cluster) -> bool:
        gates = load_configuration(self._config, self._feature_gates, release=cluster.release, with_groups=True).gates
        return gates.generic_workload


def documents_before(current: list[Document], later: Sequence[DocumentChange]) -> list[Document]:
    """What was stored before these changes, given what is stored now."""
    stored = {_identity(document): document for document in current}
    for change in reversed(later):
        if change.resource not in MODELED:
            continue
        if change.old is None:
            stored.pop(_identity(change.new.document), None)
        else:
            stored[_identity(change.old.document)] = change.old.document
    return list(stored.values())


def _identity(document: Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def _chosen(moments: Sequence[Moment], when: str, version: int) -> Moment:
    """Of a pod that had to preempt, the nomination says more than the binding that followed from it."""
    if not when:
        nominated = [moment for moment in moments if moment.what == NOMINATED]
        return (nominated or moments or [Moment(NOW, version, "")])[-1]
    if when == NOW:
        return Moment(NOW, version, "")
    if not when.isascii() or not when.isdigit() or int(when) > version:
        raise BadRequest(f"{when}: expected `now` or a version")
    known = [moment for moment in moments if moment.version == int(when)]
    return known[0] if known else Moment("then", int(when), "")


def _plain(moment: Moment) -> dict[str, Any]:
    return {"what": moment.what, "version": moment.version, "node": moment.node}


def _victims(document: Document) -> set[str]:
    """Pods that any candidate for preemption would evict."""
    candidates = (document["preemption"] or {}).get("candidates", {})
    return {victim for candidate in candidates.values() for victim in candidate["victims"]}
