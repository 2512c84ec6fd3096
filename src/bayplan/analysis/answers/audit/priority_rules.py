"""PriorityClasses that are ambiguous, crowded or of no use, and workloads whose priority is not what it seems.

Classes that an API server would reject (a user's class in the system's range, a second default in a manifest) are no
findings: reading such a cluster fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.analysis.answers.audit.audited import Audited, name_of
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.model.cluster import PriorityClass

_SYSTEM_NAMESPACES = "kube-"


def priority_findings(audited: Audited) -> Iterator[Finding]:
    yield from _defaults(audited)
    yield from _values(audited)
    yield from _unused(audited)
    yield from _users(audited)
    if not audited.lacks(PriorityClass):
        yield from _stale(audited)


def _defaults(audited: Audited) -> Iterator[Finding]:
    defaults = sorted((each for each in audited.classes if each.global_default), key=lambda each: each.value)
    for other in defaults[1:]:
        first = defaults[0]
        why = f"{first.metadata.name} ({first.value}) is a global default as well, and its lower value applies"
        yield Finding("two-default-classes", name_of(other), why)


def _values(audited: Audited) -> Iterator[Finding]:
    by_value: defaultdict[int, list[PriorityClass]] = defaultdict(list)
    for each in audited.classes:
        by_value[each.value].append(each)
    for value, equal in by_value.items():
        for other in equal[1:]:
            yield Finding(
                "equal-classes", name_of(other), f"it has the value {value}, the same as {equal[0].metadata.name}"
            )
    for lower, upper in pairwise(sorted(by_value)):
        if upper - lower == 1:
            low, high = by_value[lower][0], by_value[upper][0]
            why = f"its value {upper} is too close to {lower}, the value of {low.metadata.name}"
            yield Finding("no-room-between-classes", name_of(high), why)


def _unused(audited: Audited) -> Iterator[Finding]:
    used = {template.spec.priority_class_name for template in audited.templates}
    used |= {pod.spec.priority_class_name for pod in audited.pods}
    for each in audited.classes:
        name = each.metadata.name
        if name not in used and name not in SYSTEM_CLASSES and not each.global_default:
            yield Finding("unused-class", name_of(each), "no pod and no workload names it")


def _users(audited: Audited) -> Iterator[Finding]:
    for template in audited.templates:
        name = template.spec.priority_class_name
        if not _is_known(audited, name):
            if not audited.lacks(PriorityClass):
                yield Finding("unknown-class", template.name, f"there is no PriorityClass {name}")
        elif name in SYSTEM_CLASSES and not template.object.metadata.namespace.startswith(_SYSTEM_NAMESPACES):
            yield Finding("system-class-for-users", template.name, f"it has the class {name}")


def _is_known(audited: Audited, class_name: str) -> bool:
    return not class_name or audited.priorities.get(class_name) is not None


def _stale(audited: Audited) -> Iterator[Finding]:
    """Compared with the template of whatever makes the pod; pods of older templates are another matter."""
    found: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
    for pod in audited.pods:
        maker = audited.ownership.controller_of(pod.metadata)
        if maker is None or not _is_known(audited, maker.spec.template.spec.priority_class_name):
            continue
        now, new = pod.spec.priority or 0, audited.new_priority(maker.spec.template.spec)
        if now != new:
            found[audited.owner_name(pod), now, new].append(pod.metadata.name)
    for (owner, now, new), names in found.items():
        which = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
        yield Finding("stale-priority", owner, f"{which} has priority {now}; a new pod would have {new}")
