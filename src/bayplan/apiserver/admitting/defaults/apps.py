"""Defaults of Deployments, ReplicaSets, StatefulSets and DaemonSets.

Takes documents in wire form, completes them in place.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.pods import default_template
from bayplan.apiserver.admitting.defaults.storage import default_claim
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.gates import gate_is_on

ROLLING_UPDATE = "RollingUpdate"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_REVISIONS = 10
_QUARTER = "25%"
_DEADLINE_SECONDS = 600


def default_deployment(deployment: Document) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", ROLLING_UPDATE) == ROLLING_UPDATE:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", _QUARTER)
        rolling.setdefault("maxSurge", _QUARTER)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    spec.setdefault("progressDeadlineSeconds", _DEADLINE_SECONDS)
    default_template(spec["template"])


def default_replica_set(replica_set: Document) -> None:
    spec = replica_set["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec["template"])


def default_daemon_set(daemon_set: Document) -> None:
    # A field of the server's own type, which is an annotation in documents.
    daemon_set["metadata"].setdefault("annotations", {}).setdefault(TEMPLATE_GENERATION, "0")
    spec = daemon_set["spec"]
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", ROLLING_UPDATE) == ROLLING_UPDATE:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    default_template(spec["template"])


def default_stateful_set(stateful_set: Document) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_stateful_strategy(spec["updateStrategy"])
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates", ()):
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        default_claim(claim)


def _default_stateful_strategy(strategy: Document) -> None:
    if "type" not in strategy:
        strategy["type"] = ROLLING_UPDATE
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == ROLLING_UPDATE and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        if gate_is_on("MaxUnavailableStatefulSet"):
            strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
