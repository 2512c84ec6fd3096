"""PriorityClass admission: which classes exist, which is the default, and what priority a pod gets.

Takes PriorityClasses and pods; writes `priorityClassName`, `priority` and `preemptionPolicy` into the pods
and gives back what an API server would have refused, as pairs of field path and message. The rule:

- stored (see `stored`) with a priority: taken as it is, whatever the classes say now;
- stored without a priority: from its class if that is known, else left alone; it had no class: 0 if an API
  server created it (default classes do not reach back), the default class if it was only written as running;
- not stored: resolved and checked, as at creation.

Order does not matter between classes and pods: a class given anywhere counts for every pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from bayplan.admission.stored import looks_stored, was_created
from bayplan.model.cluster import PriorityClass
from bayplan.model.groups import PodGroup
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod

Refusal: TypeAlias = tuple[str, str]
"""Path of the field, and the message an API server gives."""

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
PREEMPT_NEVER = "Never"
HIGHEST_USER_VALUE = 1_000_000_000
SYSTEM_PREFIX = "system-"
VALUE_CHANGED = "may not be changed in an update."
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClasses:
    """The classes by name, the two system classes always among them, and the default class."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = {name: _system_class(name) for name in SYSTEM_CLASSES}
        self._by_name.update((priority_class.metadata.name, priority_class) for priority_class in classes)
        defaults = [priority_class for priority_class in self._by_name.values() if priority_class.global_default]
        # Upstream: of several defaults (two creations may race) the one with the lowest value counts.
        self.default: PriorityClass | None = min(defaults, key=lambda known: known.value, default=None)

    def get(self, name: str) -> PriorityClass | None:
        return self._by_name.get(name)

    def by_value(self) -> list[PriorityClass]:
        """All of them, the lowest value first."""
        return sorted(self._by_name.values(), key=lambda known: (known.value, known.metadata.name))


def _system_class(name: str) -> PriorityClass:
    meta = ObjectMeta(name=name)
    return PriorityClass(metadata=meta, value=SYSTEM_CLASSES[name], preemption_policy=PREEMPT_LOWER_PRIORITY)


def resolve_priority(pod: Pod, classes: PriorityClasses) -> list[Refusal]:
    """Writes the pod's priority and preemption policy; a refused pod is left unchanged."""
    spec = pod.spec
    if not looks_stored(pod):
        return _resolve_new(pod, classes)
    if spec.priority is None:
        if spec.priority_class_name or not was_created(pod.metadata):
            _resolve_stored(pod, classes)
        else:
            spec.priority = 0
    if spec.preemption_policy is None:
        spec.preemption_policy = PREEMPT_LOWER_PRIORITY
    return []


def _resolve_stored(pod: Pod, classes: PriorityClasses) -> None:
    spec = pod.spec
    name = spec.priority_class_name
    found = classes.get(name) if name else classes.default
    if found is not None:
        spec.priority_class_name = found.metadata.name
        spec.priority = found.value
        spec.preemption_policy = spec.preemption_policy or found.preemption_policy
    elif not name:
        spec.priority = 0


def _resolve_new(pod: Pod, classes: PriorityClasses) -> list[Refusal]:
    # Upstream: plugin/pkg/admission/priority/admission.go admitPod (v1.36).
    spec = pod.spec
    name, value, policy = spec.priority_class_name, 0, PREEMPT_LOWER_PRIORITY
    found = classes.get(name) if name else classes.default
    if found is not None:
        name, value = found.metadata.name, found.value
        policy = found.preemption_policy or PREEMPT_LOWER_PRIORITY
    elif name:
        return [("spec.priorityClassName", f"no PriorityClass with name {name} was found")]
    refusals = list(_contradictions(pod, value, policy))
    if not refusals:
        spec.priority_class_name, spec.priority, spec.preemption_policy = name, value, policy
    return refusals


def _contradictions(pod: Pod, value: int, policy: str) -> Iterator[Refusal]:
    spec = pod.spec
    if spec.priority is not None and spec.priority != value:
        yield "spec.priority", priority_contradiction(spec.priority, value)
    if spec.preemption_policy is not None and spec.preemption_policy != policy:
        yield "spec.preemptionPolicy", policy_contradiction(spec.preemption_policy, policy)


def resolve_group_priority(group: PodGroup, classes: PriorityClasses) -> list[Refusal]:
    """Writes the priority of a PodGroup; one that is refused, or was stored with a priority, is left unchanged."""
    # Upstream: plugin/pkg/admission/priority/admission.go admitPodGroup (v1.37).
    spec = group.spec
    name = spec.priority_class_name
    is_stored = was_created(group.metadata)
    if is_stored and (spec.priority is not None or not name):
        return []
    found = classes.get(name) if name else classes.default
    if found is None and name:
        return [] if is_stored else [("spec.priorityClassName", f"no PriorityClass with name {name} was found")]
    value = found.value if found is not None else 0
    if spec.priority is not None and spec.priority != value:
        return [("spec.priority", group_priority_contradiction(spec.priority, value))]
    spec.priority = value
    if found is not None:
        spec.priority_class_name = found.metadata.name
    return []


def group_priority_contradiction(given: int, computed: int) -> str:
    """A group names another priority than its class has."""
    return (
        f"priority set in the pod group ({given}) must match the priority computed ({computed}) based on the priority "
        "class set in the spec"
    )


def priority_contradiction(given: int, computed: int) -> str:
    """A pod names another priority than its class has."""
    return (
        f"the integer value of priority ({given}) must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def policy_contradiction(given: str, computed: str) -> str:
    """A pod names another policy of preemption than its class has."""
    return (
        f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def check_classes(arriving: Iterable[PriorityClass]) -> Iterator[tuple[PriorityClass, Refusal]]:
    """What an API server refuses about classes, in order of arrival; a name given twice is an update.

    A second default class is refused only as a manifest: a dump may hold several, and they then stand.
    """
    known: dict[str, PriorityClass] = {}
    classes = list(arriving)
    default = next((known for known in classes if known.global_default and was_created(known.metadata)), None)
    for priority_class in classes:
        before = known.get(priority_class.metadata.name)
        refusals = [*_class_refusals(priority_class), *_update_refusals(before, priority_class)]
        if priority_class.global_default and not was_created(priority_class.metadata):
            if default is not None and default.metadata.name != priority_class.metadata.name:
                refusals.append(("globalDefault", second_default(default.metadata.name)))
            default = default or priority_class
        yield from ((priority_class, refusal) for refusal in refusals)
        known[priority_class.metadata.name] = priority_class


def second_default(name: str) -> str:
    """A class wants to be the default while another one is."""
    return f"PriorityClass {name} is already marked as default. Only one default can exist"


def _class_refusals(priority_class: PriorityClass) -> Iterator[Refusal]:
    name = priority_class.metadata.name
    if name.startswith(SYSTEM_PREFIX):
        fault = system_class_fault(name, priority_class.value, priority_class.global_default)
        if fault:
            yield "metadata.name", fault
    elif priority_class.value > HIGHEST_USER_VALUE:
        yield "value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_VALUE}"


def system_class_fault(name: str, value: int, is_default: bool) -> str:
    """Why the class may not have a name that is reserved for the system's own; empty if it may."""
    why = _why_not_system(name, value, is_default)
    return f"priority class names with 'system-' prefix are reserved for system use only. error: {why}" if why else ""


def _why_not_system(name: str, value: int, is_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    if is_default:
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _update_refusals(before: PriorityClass | None, after: PriorityClass) -> Iterator[Refusal]:
    if before is None:
        return
    if before.value != after.value:
        yield "value", VALUE_CHANGED
    if _policy(before) != _policy(after):
        yield "preemptionPolicy", "field is immutable"


def _policy(priority_class: PriorityClass) -> str:
    return priority_class.preemption_policy or PREEMPT_LOWER_PRIORITY
