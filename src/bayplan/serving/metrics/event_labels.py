"""What upstream calls a change of an object in its metrics: NodeAdd, UnscheduledPodUpdatePodToleration.

Takes an event of the core, gives its labels; none for what upstream does not handle, or for an answer. Labels are those
of the newest version; `EventNames` has them as another one does.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.releases import KubernetesRelease
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.requeue import (
    RESOURCES_BY_KIND,
    UNHEARD_UPSTREAM,
    ActionType,
    ClusterEvent,
    EventResource,
)
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.serving.metrics.tallies import Labels


class EventNames:
    """Labels of events as one version of Kubernetes writes them."""

    def __init__(self, release: KubernetesRelease) -> None:
        self._kinds = release.event_kinds
        self._known: dict[str, str] = {}

    def of(self, label: str) -> str:
        if label not in self._known:
            names = (own + label.removeprefix(kind) for kind, own in self._kinds.items() if label.startswith(kind))
            self._known[label] = next(names, label)
        return self._known[label]

    def last_of(self, counts: Mapping[Labels, float]) -> Mapping[Labels, float]:
        """Numbers whose last label is an event; those that have one name in this version are added up."""
        renamed: dict[Labels, float] = {}
        for (*others, label), number in counts.items():
            labels = (*others, self.of(label))
            renamed[labels] = renamed.get(labels, 0) + number
        return renamed


@cache
def _label(resource: EventResource, action: ActionType) -> str:
    return ClusterEvent(resource, action).label


def labels_of(event: Event, scheduler_names: Container[str]) -> tuple[str, ...]:
    """`scheduler_names` are those of our profiles: pods of others that have no node are not looked at."""
    match event:
        case ObjectChanged(Pod() as old, Pod() as new):
            return _pod_change(old, new, scheduler_names)
        case ObjectChanged(Node() as old, Node() as new):
            return tuple(_label(EventResource.NODE, action) for action in node_changes(old, new))
        case ObjectAdded(obj):
            return _simple(obj, ActionType.ADD, scheduler_names)
        case ObjectChanged(_, obj):
            return _simple(obj, ActionType.UPDATE, scheduler_names)
        case ObjectRemoved(obj):
            return _simple(obj, ActionType.DELETE, scheduler_names)
    return ()


def _simple(obj: Object, action: ActionType, scheduler_names: Container[str]) -> tuple[str, ...]:
    resource = RESOURCES_BY_KIND.get(type(obj).__name__)
    if isinstance(obj, Pod):
        if not obj.spec.node_name and obj.spec.scheduler_name not in scheduler_names:
            return ()
        resource = EventResource.ASSIGNED_POD if obj.spec.node_name else EventResource.UNSCHEDULED_POD
    return (_label(resource, action),) if resource is not None and resource not in UNHEARD_UPSTREAM else ()


def _pod_change(old: Pod, new: Pod, scheduler_names: Container[str]) -> tuple[str, ...]:
    if not new.spec.node_name:
        if new.spec.scheduler_name not in scheduler_names:
            return ()
        resource = EventResource.UNSCHEDULED_POD
    elif not old.spec.node_name:
        return (_label(EventResource.ASSIGNED_POD, ActionType.ADD),)
    else:
        resource = EventResource.ASSIGNED_POD
    found = {
        _label(resource, ActionType.UPDATE),
        *(_label(resource, action) for action in pod_changes(old, new, DEFAULT_GATES)),
    }
    return tuple(found)
