"""What an API server does to incoming objects: defaults, and PriorityClass to priority.

`admit` takes objects in order of arrival and returns the same list, with its objects completed **in place**:
they belong to the caller. All faults of all objects are raised together. An object that an API server has
already stored is used as it is (see `stored`), so that admitting a dump changes nothing, and
admitting twice changes nothing more. Not done here: validation of anything but priorities, LimitRanges,
quotas, webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from bayplan.admission.defaults import default_object, default_storage_class, set_storage_class
from bayplan.admission.priority import PriorityClasses, Refusal, check_classes, resolve_group_priority, resolve_priority
from bayplan.admission.stored import is_complete
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim, StorageClass

__all__ = ["admit"]

#: What to do about a refusal, by field: unlike a server's user, whoever writes files can add what is missing.
_WAYS_OUT = {"spec.priorityClassName": "; add the class to the input, or name another one"}


def admit(objects: list[Object], *, beside: Sequence[Object] = ()) -> list[Object]:
    """Admits the objects to a cluster that already has those `beside` them; raises InvalidObject.

    Args:
        objects: in order of arrival; completed in place and returned.
        beside: objects admitted earlier, which are only read, for their classes.
    """
    classes = [obj for obj in chain(beside, objects) if type(obj) is PriorityClass]
    faults = [_fault(obj, refusal) for obj, refusal in check_classes(classes)]
    faults += _admit_pods(objects, PriorityClasses(classes))
    for obj in objects:
        if type(obj) is not Pod:
            default_object(obj)
    _set_storage_classes(objects, default_storage_class(_storage_classes(chain(beside, objects))))
    if faults:
        raise InvalidObject(faults)
    return objects


def _admit_pods(objects: list[Object], classes: PriorityClasses) -> list[Fault]:
    faults = []
    for obj in objects:
        if type(obj) is Pod and not is_complete(obj):
            faults += [_fault(obj, refusal) for refusal in _admit_pod(obj, classes)]
        elif type(obj) is PodGroup:
            refused = resolve_group_priority(obj, classes)
            faults += [_fault(obj, (field, message + _WAYS_OUT.get(field, ""))) for field, message in refused]
    return faults


def _admit_pod(pod: Pod, classes: PriorityClasses) -> list[Refusal]:
    try:
        default_object(pod)
    except ValueError as error:
        return [("spec.resources", str(error))]
    return [(field, message + _WAYS_OUT.get(field, "")) for field, message in resolve_priority(pod, classes)]


def _storage_classes(objects: Iterable[Object]) -> Iterable[StorageClass]:
    return (obj for obj in objects if type(obj) is StorageClass)


def _set_storage_classes(objects: list[Object], default: StorageClass | None) -> None:
    if default is not None:
        for obj in objects:
            if type(obj) is PersistentVolumeClaim:
                set_storage_class(obj, default)


def _fault(obj: Object, refusal: Refusal) -> Fault:
    field, message = refusal
    meta = obj.metadata
    name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    return Fault(source="", object=f"{type(obj).__name__} {name}", field=field, message=message)
