"""Checks of disruption budgets, priority classes and autoscalers.

Upstream: pkg/apis/policy, scheduling and autoscaling, each in its validation package (v1.36).
"""

from __future__ import annotations

from bayplan.admission.priority import HIGHEST_USER_VALUE, SYSTEM_PREFIX, VALUE_CHANGED, system_class_fault
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.pods.spec import PREEMPTION_POLICIES
from bayplan.apiserver.admitting.validation.workloads import check_int_or_percent, check_percent_at_most_100

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_METRIC_SOURCES = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}


def check_budget(budget: Document, faults: Faults) -> None:
    spec = budget["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = internal(spec, "PodDisruptionBudgetSpec")
        faults.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            check_int_or_percent(spec[field], faults, f"spec.{field}")
            check_percent_at_most_100(spec[field], faults, f"spec.{field}")
    check_label_selector(spec.get("selector"), faults, "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        faults.unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def check_priority_class(priority_class: Document, faults: Faults) -> None:
    name, value = priority_class["metadata"].get("name", ""), priority_class["value"]
    if name.startswith(SYSTEM_PREFIX):
        fault = system_class_fault(name, value, bool(priority_class.get("globalDefault")))
        if fault:
            faults.forbidden("metadata.name", fault)
    elif value > HIGHEST_USER_VALUE:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_VALUE}"
        faults.forbidden("value", text)
    faults.one_of("preemptionPolicy", priority_class.get("preemptionPolicy"), PREEMPTION_POLICIES)


def check_priority_class_update(new: Document, old: Document, faults: Faults) -> None:
    if new["value"] != old["value"]:
        faults.forbidden("value", VALUE_CHANGED)
    faults.immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def check_autoscaler(autoscaler: Document, faults: Faults) -> None:
    """In either version."""
    spec = autoscaler["spec"]
    least, most = spec.get("minReplicas"), spec["maxReplicas"]
    if least is not None and least < 1:
        faults.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        faults.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        faults.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        faults.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for field in ("kind", "name"):
        value = spec["scaleTargetRef"][field]
        if not value:
            faults.required(f"spec.scaleTargetRef.{field}")
        else:
            faults.all_invalid(f"spec.scaleTargetRef.{field}", value, path_segment_faults(value))
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is not None and percent < 1:
        faults.invalid("spec.targetCPUUtilizationPercentage", percent, "must be greater than 0")
    for position, metric in enumerate(spec.get("metrics", ())):
        _check_metric(metric, faults, f"spec.metrics[{position}]")


def _check_metric(metric: Document, faults: Faults, path: Path) -> None:
    kind = metric["type"]
    if kind not in _METRIC_SOURCES:
        faults.one_of(f"{path}.type", kind, tuple(sorted(_METRIC_SOURCES)))
        return
    source = _METRIC_SOURCES[kind]
    if source not in metric:
        text = f'must populate information for the given metric source (only allowed when type is "{kind}")'
        faults.required(f"{path}.{source}", text)
    elif kind == "Resource" and not metric[source]["name"]:
        faults.required(f"{path}.{source}.name", "must specify a resource name")
