"""Checks of HorizontalPodAutoscalers, in the form of autoscaling/v2.

Upstream: pkg/apis/autoscaling/validation/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.pods.resources import check_container_resource
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.model.dns_names import label_faults
from bayplan.model.quantity import parse_quantity

_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SOURCE_TYPES: Final = tuple(sorted(_SOURCES))
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICIES: Final = ("Percent", "Pods")
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_PERIOD_MAX, _WINDOW_MAX = 1800, 3600


def check_autoscaler(autoscaler: Document, faults: Faults) -> None:
    _check_spec(autoscaler["spec"], faults)


def check_autoscaler_update(new: Document, old: Document, faults: Faults) -> None:
    """A reference that was not valid before need not be now."""
    before = old["spec"]
    _check_spec(
        new["spec"],
        faults,
        least_min=0 if before.get("minReplicas") == 0 else None,
        checks_target=not _version_fault(before["scaleTargetRef"].get("apiVersion", ""), needs_group=True),
    )


def least_replicas() -> int:
    """The least that `minReplicas` may be."""
    return 0 if gate_is_on("HPAScaleToZero") else 1


def check_autoscaler_status(new: Document, _old: Document, faults: Faults) -> None:
    for field in ("currentReplicas", "desiredReplicas"):
        faults.not_negative(f"status.{field}", new["status"].get(field))
    for position, condition in enumerate(new["status"].get("conditions") or ()):
        path = f"status.conditions[{position}].observedGeneration"
        faults.not_negative(path, condition.get("observedGeneration"))


def _check_spec(spec: Document, faults: Faults, *, least_min: int | None = None, checks_target: bool = True) -> None:
    least, most = spec.get("minReplicas"), spec["maxReplicas"]
    least_min = least_min if least_min is not None else least_replicas()
    if least is not None and least < least_min:
        faults.declared.invalid("spec.minReplicas", least, f"must be greater than or equal to {least_min}")
    if most == 0:
        faults.declared.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        faults.declared.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        faults.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    _check_reference(spec["scaleTargetRef"], faults, "spec.scaleTargetRef", needs_group=True, checked=checks_target)
    metrics = spec.get("metrics", [])
    for position, metric in enumerate(metrics):
        _check_metric(metric, faults, f"spec.metrics[{position}]")
    if least == 0 and not {"Object", "External"} & {metric["type"] for metric in metrics}:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        faults.forbidden("spec.metrics", text)
    for direction in ("scaleUp", "scaleDown"):
        rules = spec.get("behavior", {}).get(direction)
        if rules is not None:
            _check_rules(rules, faults, f"spec.behavior.{direction}")


def _check_reference(
    reference: Document, faults: Faults, path: Path, *, needs_group: bool = False, checked: bool = True
) -> None:
    for field in ("kind", "name"):
        faults.named(f"{path}.{field}", reference.get(field), path_segment_faults)
    version = reference.get("apiVersion", "")
    fault = _version_fault(version, needs_group=needs_group)
    if checked and fault:
        faults.invalid(f"{path}.apiVersion", version, fault)


def _version_fault(version: str, *, needs_group: bool) -> str:
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if needs_group and not version.rpartition("/")[0]:
        return "apiVersion must specify API group"
    return ""


def _check_rules(rules: Document, faults: Faults, path: Path) -> None:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        faults.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _WINDOW_MAX:
        faults.invalid(f"{path}.stabilizationWindowSeconds", window, f"must be less than or equal to {_WINDOW_MAX}")
    faults.supported(f"{path}.selectPolicy", rules.get("selectPolicy"), _SELECT_POLICIES)
    policies = rules.get("policies") or []
    if not policies:
        faults.required(f"{path}.policies", "must specify at least one Policy")
    for position, policy in enumerate(policies):
        at = f"{path}.policies[{position}]"
        if policy["type"] not in _POLICIES:
            faults.unsupported(f"{at}.type", policy["type"], _POLICIES)
        for field in ("value", "periodSeconds"):
            if policy[field] <= 0:
                faults.invalid(f"{at}.{field}", policy[field], NOT_POSITIVE)
        if policy["periodSeconds"] > _PERIOD_MAX:
            text = f"must be less than or equal to {_PERIOD_MAX}"
            faults.invalid(f"{at}.periodSeconds", policy["periodSeconds"], text)
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(tolerance) < 0:
        faults.invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0")


def _check_metric(metric: Document, faults: Faults, path: Path) -> None:
    kind = metric["type"]
    if not kind:
        faults.required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        faults.unsupported(f"{path}.type", kind, _SOURCE_TYPES)
    present = [name for name in _SOURCES.values() if name in metric]
    if present:
        _check_source(present[0], metric[present[0]], faults, f"{path}.{present[0]}")
    if kind not in _SOURCES:
        faults.unsupported(f"{path}.type", kind, _SOURCE_TYPES)
    elif _SOURCES[kind] not in metric:
        faults.required(f"{path}.{_SOURCES[kind]}", "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != _SOURCES.get(kind):
                faults.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _check_source(name: str, source: Document, faults: Faults, path: Path) -> None:
    if name == "object":
        _check_reference(source["describedObject"], faults, f"{path}.describedObject")
    if name in ("object", "external", "pods"):
        _check_identifier(source["metric"], faults, f"{path}.metric")
    else:
        _check_resource(name, source, faults, path)
    target = source["target"]
    _check_target(target, faults, f"{path}.target")
    value, average = target.get("value"), target.get("averageValue")
    if name == "pods":
        if average is None:
            faults.required(f"{path}.target.averageValue", "must specify a positive target averageValue")
    elif name in ("object", "external"):
        either = "must set either a target value"
        what = f"{either} or averageValue" if name == "object" else f"{either} for metric or a per-pod target"
        if value is None and average is None:
            faults.required(f"{path}.target.averageValue", what)
        if name == "external" and value is not None and average is not None:
            text = "may not set both a target value for metric and a per-pod target"
            faults.forbidden(f"{path}.target.value", text)
    else:
        _check_share(target, faults, f"{path}.target")


def _check_resource(name: str, source: Document, faults: Faults, path: Path) -> None:
    if not source["name"]:
        faults.required(f"{path}.name", "must specify a resource name")
    elif name == "containerResource":
        check_container_resource(source["name"], faults, f"{path}.name")
    if name == "containerResource":
        faults.named(f"{path}.container", source["container"], label_faults, "must specify a container")


def _check_share(target: Document, faults: Faults, path: Path) -> None:
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        text = "must set either a target raw value or a target utilization"
        faults.required(f"{path}.averageUtilization", text)
    if utilization is not None and average is not None:
        faults.forbidden(f"{path}.averageValue", "may not set both a target raw value and a target utilization")


def _check_target(target: Document, faults: Faults, path: Path) -> None:
    kind = target["type"]
    if not kind:
        faults.required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        faults.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if target.get(field) is not None and parse_quantity(target[field]) <= 0:
            faults.invalid(f"{path}.{field}", target[field], "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        faults.invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


def _check_identifier(identifier: Document, faults: Faults, path: Path) -> None:
    faults.named(f"{path}.name", identifier["name"], path_segment_faults, "must specify a metric name")
