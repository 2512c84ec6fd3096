"""Checks of the statuses of workloads: counts that are not negative and no larger than what they are a part of.

Upstream: pkg/apis/apps/validation/validation.go and pkg/apis/core/validation/validation.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults

_OF_ALL = "cannot be greater than status.replicas"


def check_deployment_status(new: Document, old: Document, faults: Faults) -> None:
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    _check_counts(new, faults, "observedGeneration", *counts, "terminatingReplicas", "collisionCount")
    _check_parts(new, faults, "updatedReplicas", "readyReplicas", "availableReplicas")
    _check_available(new, faults, "cannot be greater than readyReplicas")
    _check_collisions(new, old, faults)


def check_replica_set_status(new: Document, _old: Document, faults: Faults) -> None:
    """Of a ReplicaSet or a ReplicationController."""
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    _check_counts(new, faults, "replicas", *parts, "observedGeneration", "terminatingReplicas")
    _check_parts(new, faults, *parts)
    _check_available(new, faults, "cannot be greater than readyReplicas")


def check_stateful_set_status(new: Document, old: Document, faults: Faults) -> None:
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    _check_counts(new, faults, "replicas", *parts, "observedGeneration", "collisionCount")
    _check_parts(new, faults, *parts)
    _check_available(new, faults, "cannot be greater than status.readyReplicas")
    _check_collisions(new, old, faults)


def check_daemon_set_status(new: Document, old: Document, faults: Faults) -> None:
    _check_counts(
        new,
        faults,
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
    )
    _check_collisions(new, old, faults)


def _check_counts(document: Document, faults: Faults, *fields: str) -> None:
    for field in fields:
        faults.not_negative(f"status.{field}", document["status"].get(field))


def _check_parts(document: Document, faults: Faults, *fields: str) -> None:
    status = document["status"]
    for field in fields:
        if status.get(field, 0) > status.get("replicas", 0):
            faults.invalid(f"status.{field}", status.get(field, 0), _OF_ALL)


def _check_available(document: Document, faults: Faults, text: str) -> None:
    status = document["status"]
    if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        faults.invalid("status.availableReplicas", status.get("availableReplicas", 0), text)


def _check_collisions(new: Document, old: Document, faults: Faults) -> None:
    before, count = old.get("status", {}).get("collisionCount"), new["status"].get("collisionCount")
    if before is not None and (count is None or count < before):
        faults.invalid("status.collisionCount", count or 0, "cannot be decremented")
