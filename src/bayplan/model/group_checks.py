"""What can be wrong with a PodGroup or a Workload in a file: policies that no API server would have stored."""

from __future__ import annotations

from bayplan.model.conversion import FieldFault
from bayplan.model.groups import PodGroup, PodGroupSpec, PodGroupTemplate, Workload


def check_pod_group(group: PodGroup, faults: list[FieldFault]) -> None:
    _group_policy(group.spec, "spec", faults)


def check_group_workload(workload: Workload, faults: list[FieldFault]) -> None:
    for position, template in enumerate(workload.spec.pod_group_templates):
        _group_policy(template, f"spec.podGroupTemplates[{position}]", faults)


def _group_policy(spec: PodGroupSpec | PodGroupTemplate, path: str, faults: list[FieldFault]) -> None:
    policy = spec.scheduling_policy
    if (policy.basic is None) == (policy.gang is None):
        number = "one of" if policy.basic is None else "exactly one of"
        faults.append((f"{path}.schedulingPolicy", f"must specify {number}: `basic`, `gang`"))
    if policy.gang is not None and policy.gang.min_count < 1:
        faults.append((f"{path}.schedulingPolicy.gang.minCount", "must be greater than or equal to 1"))
    constraints = spec.scheduling_constraints
    for position, constraint in enumerate(constraints.topology if constraints is not None else ()):
        if not constraint.key:
            faults.append((f"{path}.schedulingConstraints.topology[{position}].key", "is missing"))
