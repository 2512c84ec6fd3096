"""Statuses as clients know them, from what scheduler, controllers and kubelets write through narrow structs.

Takes a document before and after such a write; gives the one that real components would have written: with container
statuses, times of conditions, and counts that are zero. Pure: `now` is an argument. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.statuses import pods, workloads
from bayplan.apiserver.storage.entries import Document

_Completion: TypeAlias = Callable[[Document, Document, str], Document]

_COMPLETIONS: Mapping[str, _Completion] = {
    "pods": pods.completed,
    "deployments.apps": workloads.completed_deployment,
    "replicasets.apps": workloads.completed_counts,
    "replicationcontrollers": workloads.completed_counts,
    "statefulsets.apps": workloads.completed_counts,
    "daemonsets.apps": workloads.completed_counts,
    "jobs.batch": workloads.completed_job,
    "poddisruptionbudgets.policy": workloads.completed_budget,
}


def completed(resource: Resource, old: Document, new: Document, time: str) -> Document:
    """The new document with all that its writer's real counterpart says in a status."""
    completion = _COMPLETIONS.get(resource.qualified_resource)
    return new if completion is None else completion(old, new, time)
