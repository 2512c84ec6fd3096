"""Checks of disruption budgets and priority classes.

Upstream: pkg/apis/policy and scheduling, each in its validation package (v1.36).
"""

from __future__ import annotations

from bayplan.admission.priority import HIGHEST_USER_VALUE, SYSTEM_PREFIX, VALUE_CHANGED, system_class_fault
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.pods.spec import PREEMPTION_POLICIES
from bayplan.apiserver.admitting.validation.workloads import check_int_or_percent, check_percent_at_most_100

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


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


def check_budget_status(new: Document, _old: Document, faults: Faults) -> None:
    status = new["status"]
    check_conditions(status.get("conditions") or [], faults, "status.conditions")
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        faults.not_negative(f"status.{field}", status.get(field))


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
