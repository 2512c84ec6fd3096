"""NodePool and Autoscaler, bayplan's own kinds, as an API serves them.

They are served as custom resources are, though no CustomResourceDefinition defines them that anybody could delete. What
is wrong with an object is what is wrong with it in a file: types and values are judged by `bayplan.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bayplan.apiserver.custom_resources.versions import CustomVersion
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.model.checks import check
from bayplan.model.conversion import convert
from bayplan.model.kinds import OWN_KINDS, KindInfo
from bayplan.model.node_pools import CONSOLIDATION, EXPANDERS, MODES, Autoscaler, NodePool
from bayplan.store.errors import FORBIDDEN, INVALID, StatusCause, field_cause

_WHOLE: Final = {"type": "integer", "format": "int32"}
_NUMBER: Final = {"type": "number"}
_TIME: Final = {"type": "string", "description": "A time such as 90s or 10m."}
_TEXT: Final = {"type": "string"}
_SWITCH: Final = {"type": "boolean"}
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

_POOL_SPEC: Final[Mapping[str, Any]] = {
    "template": {
        **_OPEN,
        "description": "A node without a name: labels, taints, allocatable and so on.",
    },
    "devices": {"type": "array", "items": _OPEN, "description": "What drivers publish for each node."},
    "min": {**_WHOLE, "description": "How few nodes the pool may have."},
    "max": {**_WHOLE, "description": "How many nodes the pool may have."},
    "price": {**_NUMBER, "description": "Of a node for an hour."},
    "startTime": {**_TIME, "description": "From the request for a node until it is ready."},
    "priority": {**_WHOLE, "description": "For the expander priority, and for Karpenter's order of pools."},
    "unneededTime": {**_TIME, "description": "In place of the autoscaler's."},
    "utilizationThreshold": {**_NUMBER, "description": "In place of the autoscaler's."},
    "consolidateAfter": {**_TIME, "description": "In place of the autoscaler's."},
}
_AUTOSCALER_SPEC: Final[Mapping[str, Any]] = {
    "mode": {**_TEXT, "description": f"One of {', '.join(MODES)}."},
    "maxNodes": {**_WHOLE, "description": "Of all pools together."},
    "scaleDown": {**_SWITCH, "description": "Whether nodes are removed at all."},
    "expander": {**_TEXT, "description": f"Which pool grows: some of {', '.join(EXPANDERS)}, separated by commas."},
    "scanInterval": {**_TIME, "description": "How often it looks."},
    "utilizationThreshold": {**_NUMBER, "description": "A node may go if less of it is requested."},
    "unneededTime": {**_TIME, "description": "A node may go if it was unneeded for that long."},
    "delayAfterAdd": {**_TIME, "description": "A node may go if none was added for that long."},
    "skipNodesWithSystemPods": {**_SWITCH, "description": "Whether pods of kube-system keep their node."},
    "skipNodesWithLocalStorage": {**_SWITCH, "description": "Whether pods with local storage keep their node."},
    "consolidationPolicy": {**_TEXT, "description": f"One of {', '.join(CONSOLIDATION)}."},
    "consolidateAfter": {**_TIME, "description": "How long nothing must have happened on a node."},
    "disruptionBudget": {**_TEXT, "description": "How many nodes of a pool may go at once: 3, or 10%."},
}
_POOL_STATUS: Final = {"nodes": {**_WHOLE, "description": "How many nodes the pool has."}}


def _column(name: str, kind: str, path: str) -> dict[str, str]:
    return {"name": name, "type": kind, "jsonPath": path}


_AGE: Final = _column("Age", "date", ".metadata.creationTimestamp")
_POOL_COLUMNS: Final = (
    _column("Nodes", "integer", ".status.nodes"),
    _column("Min", "integer", ".spec.min"),
    _column("Max", "integer", ".spec.max"),
    _column("Price", "number", ".spec.price"),
    _AGE,
)
_AUTOSCALER_COLUMNS: Final = (
    _column("Mode", "string", ".spec.mode"),
    _column("Expander", "string", ".spec.expander"),
    _AGE,
)


def serve_own_kinds(registry: Registry) -> None:
    """From now on the registry serves NodePools and Autoscalers."""
    pools, autoscalers = OWN_KINDS[NodePool.__name__], OWN_KINDS[Autoscaler.__name__]
    of_pools = {"spec": _fields(_POOL_SPEC), "status": _fields(_POOL_STATUS)}
    _serve(registry, pools, OwnVersion(pools, of_pools, _POOL_COLUMNS, list))

    def others() -> list[Entry]:
        return registry.storage.entries(_stored_as(autoscalers))

    of_autoscalers = {"spec": _fields(_AUTOSCALER_SPEC)}
    _serve(registry, autoscalers, OwnVersion(autoscalers, of_autoscalers, _AUTOSCALER_COLUMNS, others))


def _serve(registry: Registry, info: KindInfo, version: CustomVersion) -> None:
    registry.definitions.serve(_stored_as(info), version)


def _stored_as(info: KindInfo) -> str:
    return f"{info.plural}.{info.group}"


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields)}


class OwnVersion(CustomVersion):
    """One of the kinds.

    Args:
        info: which.
        parts: the schemas of what it has beside its metadata.
        columns: what tables show of an object.
        others: the objects beside which there may be no further one.
    """

    def __init__(
        self,
        info: KindInfo,
        parts: Mapping[str, Any],
        columns: Sequence[Mapping[str, str]],
        others: Callable[[], Sequence[Entry]],
    ) -> None:
        names = {"kind": info.kind, "plural": info.plural, "singular": info.kind.lower()}
        version = {
            "name": info.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": dict(parts)}},
            "additionalPrinterColumns": columns,
            "subresources": {"status": {}} if "status" in parts else {},
        }
        scope = "Namespaced" if info.namespaced else "Cluster"
        super().__init__(
            {"spec": {"group": info.group, "names": names, "scope": scope, "versions": [version]}}, version
        )
        self._info, self._others = info, others

    def validate_create(self, document: Document) -> list[StatusCause]:
        causes = super().validate_create(document) or self._faults(document)
        return causes + [
            field_cause(FORBIDDEN, "metadata.name", f"there is another one, {other.name}; only one can act")
            for other in self._others()
            if other.name != document["metadata"].get("name")
        ]

    def validate_update(self, document: Document, old: Document) -> list[StatusCause]:
        return super().validate_update(document, old) or self._faults(document)

    def _faults(self, document: Document) -> list[StatusCause]:
        known = {field: value for field, value in document.items() if field != "status"}
        obj, faults = convert(known, self._info.struct)
        return [field_cause(INVALID, field, said) for field, said in faults or check(obj)]
